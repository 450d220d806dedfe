/** How far a run is, on a terminal; nowhere else, where it would only fill a log. */

import { duration } from "../report/words.ts";

export interface Progress {
  begin(scenario: string, plannedMs: number): void;
  /** A step is over that was planned to take so long. */
  did(plannedMs: number): void;
  /** The scenario is over, whatever of it was left. Returns how long it took, ms. */
  end(): number;
}

/** Where a run is in its plan, ms. */
export interface Place {
  readonly passedMs: number;
  readonly plannedMs: number;
  /** Of the plan, what is over. */
  readonly doneMs: number;
  /** Since the last step was over. */
  readonly sinceMs: number;
}

const WIDTH = 24;
const REFRESH_MS = 500;

/** So much of a plan is believed as it stands, before the run itself has shown how long things take here. */
const BELIEVED_MS = 60_000;

/** What is left of the plan, at the pace that the run has had so far. */
export function leftMs({ passedMs, plannedMs, doneMs, sinceMs }: Place): number {
  const pace = (passedMs - sinceMs + BELIEVED_MS) / (doneMs + BELIEVED_MS);
  return Math.max(0, (plannedMs - doneMs) * pace - sinceMs);
}

export function progress(plannedMs: number): Progress {
  const { stderr } = process;
  const beganAtMs = performance.now();
  let before = 0;
  let ownMs = 0;
  let doneMs = 0;
  let scenarioAtMs = beganAtMs;
  let steppedAtMs = beganAtMs;
  let current = "";
  let timer: NodeJS.Timeout | undefined;
  const draw = (): void => {
    const now = performance.now();
    const passedMs = now - beganAtMs;
    const left = leftMs({ passedMs, plannedMs, doneMs, sinceMs: now - steppedAtMs });
    const share = passedMs / (passedMs + left);
    const bar = "█".repeat(Math.round(share * WIDTH)).padEnd(WIDTH, "░");
    stderr.write(`\r\u001B[2K${bar} ${current} · ${duration(passedMs)}, about ${duration(left)} left`);
  };
  const moveTo = (ms: number): void => {
    doneMs = ms;
    steppedAtMs = performance.now();
  };
  return {
    begin: (scenario, ms) => {
      current = scenario;
      ownMs = ms;
      scenarioAtMs = performance.now();
      if (stderr.isTTY) timer = setInterval(draw, REFRESH_MS);
    },
    did: (ms) => moveTo(Math.min(doneMs + ms, before + ownMs)),
    end: () => {
      before += ownMs;
      moveTo(before);
      clearInterval(timer);
      if (stderr.isTTY) stderr.write("\r\u001B[2K");
      return performance.now() - scenarioAtMs;
    },
  };
}
