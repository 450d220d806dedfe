/** How far a run is, on a terminal; nowhere else, where it would only fill a log. */

import { duration } from "../report/words.ts";

export interface Progress {
  begin(scenario: string, planned: Time): void;
  /** A step is over that was planned to take so long. */
  did(plannedMs: number, kind: Kind): void;
  /** The scenario is over, whatever of it was left. Returns how long it took, ms. */
  end(): number;
}

/**
 * `turns` last as long as they are given, whatever the machine does. `work` lasts until it is done: starting processes, connecting
 * thousands, a pass through a line; a busy machine takes several times as long for it.
 */
export type Kind = "turns" | "work";

/** Planned, ms. */
export interface Time {
  readonly ms: number;
  /** That part of it. */
  readonly workMs: number;
}

/** Of one kind, ms: what there is, what of that is over, and how long that took. */
export interface Share {
  readonly plannedMs: number;
  readonly doneMs: number;
  readonly tookMs: number;
}

const WIDTH = 24;
const REFRESH_MS = 500;

/** So much of a plan is believed as it stands, before the run itself has shown how long things take here. */
const BELIEVED_MS: Readonly<Record<Kind, number>> = { turns: 60_000, work: 10_000 };

/** What is left of the plan, each kind at the pace that it has had so far. `sinceMs`: since the last step was over. */
export function leftMs(shares: Readonly<Record<Kind, Share>>, sinceMs: number): number {
  const ofKind = (kind: Kind): number => {
    const { plannedMs, doneMs, tookMs } = shares[kind];
    return ((plannedMs - doneMs) * (tookMs + BELIEVED_MS[kind])) / (doneMs + BELIEVED_MS[kind]);
  };
  return Math.max(0, ofKind("turns") + ofKind("work") - sinceMs);
}

export function progress(planned: Time): Progress {
  const { stderr } = process;
  const total = byKind(planned);
  const took = { turns: 0, work: 0 };
  const beganAtMs = performance.now();
  let done = { turns: 0, work: 0 };
  let until = done;
  let scenarioAtMs = beganAtMs;
  let steppedAtMs = beganAtMs;
  let current = "";
  let timer: NodeJS.Timeout | undefined;
  const shareOf = (kind: Kind): Share => ({ plannedMs: total[kind], doneMs: done[kind], tookMs: took[kind] });
  const draw = (): void => {
    const now = performance.now();
    const passedMs = now - beganAtMs;
    const left = leftMs({ turns: shareOf("turns"), work: shareOf("work") }, now - steppedAtMs);
    const share = passedMs / (passedMs + left);
    const bar = "█".repeat(Math.round(share * WIDTH)).padEnd(WIDTH, "░");
    stderr.write(`\r\u001B[2K${bar} ${current} · ${duration(passedMs)}, about ${duration(left)} left`);
  };
  return {
    begin: (scenario, own) => {
      const parts = byKind(own);
      current = scenario;
      until = { turns: done.turns + parts.turns, work: done.work + parts.work };
      scenarioAtMs = performance.now();
      if (stderr.isTTY) timer = setInterval(draw, REFRESH_MS);
    },
    did: (ms, kind) => {
      done[kind] = Math.min(done[kind] + ms, until[kind]);
      took[kind] += performance.now() - steppedAtMs;
      steppedAtMs = performance.now();
    },
    end: () => {
      done = until;
      clearInterval(timer);
      if (stderr.isTTY) stderr.write("\r\u001B[2K");
      return performance.now() - scenarioAtMs;
    },
  };
}

function byKind({ ms, workMs }: Time): Record<Kind, number> {
  return { turns: ms - workMs, work: workMs };
}
