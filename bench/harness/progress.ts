/** How far a run is, on a terminal; nowhere else, where it would only fill a log. */

export interface Progress {
  begin(scenario: string): void;
  end(): void;
}

const WIDTH = 24;
const REFRESH_MS = 500;

export function progress(total: number): Progress {
  const { stderr } = process;
  const startedAt = performance.now();
  let done = 0;
  let current = "";
  let timer: NodeJS.Timeout | undefined;
  const draw = (): void => {
    const bar = "█".repeat(Math.round((done / total) * WIDTH)).padEnd(WIDTH, "░");
    const passedS = (performance.now() - startedAt) / 1000;
    const left = done === 0 ? "" : `, about ${Math.round((passedS / done) * (total - done))} s left`;
    stderr.write(`\r\u001B[2K${bar} ${done}/${total} ${current} (${Math.round(passedS)} s${left})`);
  };
  return {
    begin: (scenario) => {
      current = scenario;
      if (stderr.isTTY) timer = setInterval(draw, REFRESH_MS);
    },
    end: () => {
      done += 1;
      clearInterval(timer);
      if (stderr.isTTY) stderr.write("\r\u001B[2K");
    },
  };
}
