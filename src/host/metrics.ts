/** What a host counts, and how it is told: Prometheus' text format. No label ever carries a key, a space or a name. */

import type { Effect } from "../core/index.ts";

/** The totals over all spaces at the time of asking. */
export interface Gauges {
  readonly spaces: number;
  readonly sockets: number;
  readonly sessions: number;
  readonly keys: number;
  readonly holding: number;
  readonly waiting: number;
  readonly attempts: number;
  readonly calls: number;
  readonly watches: number;
  readonly streams: number;
}

/** Every family: its kind, what it means, and for a counter its one label. What is not named here cannot be counted. */
const FAMILIES = {
  latchkey_acquires_total: ["counter", "Answers to acquires, by result.", "result"],
  latchkey_idempotency_total: ["counter", "What became of begins and attempts, by outcome.", "outcome"],
  latchkey_releases_total: ["counter", "Locks that ended, by reason.", "reason"],
  latchkey_refusals_total: ["counter", "Requests that were refused and changed nothing, by code.", "code"],
  latchkey_sockets_closed_total: ["counter", "Sockets that the host closed, by close code.", "code"],
  latchkey_heartbeats_missed_total: ["counter", "Sessions that were silent for too long."],
  latchkey_frames_total: ["counter", "WebSocket frames, by direction.", "direction"],
  latchkey_http_responses_total: ["counter", "HTTP answers, by status.", "status"],
  latchkey_store_failures_total: ["counter", "Loads and commits that failed."],
  latchkey_wait_seconds: ["histogram", "From the request to the grant."],
  latchkey_spaces: ["gauge", "Spaces in use."],
  latchkey_sockets: ["gauge", "Open sockets."],
  latchkey_sessions: ["gauge", "Sessions, connected or suspended."],
  latchkey_keys: ["gauge", "Keys that somebody holds or waits for."],
  latchkey_holding: ["gauge", "Claims that hold."],
  latchkey_waiting: ["gauge", "Claims that wait."],
  latchkey_attempts: ["gauge", "Attempts at idempotent work that run."],
  latchkey_http_calls: ["gauge", "HTTP calls that wait for an answer."],
  latchkey_watches: ["gauge", "Keys and prefixes that are watched, each as often as it is."],
  latchkey_event_streams: ["gauge", "HTTP answers that are streams of server-sent events."],
} as const;

type Family = keyof typeof FAMILIES;
type Counter = { [F in Family]: (typeof FAMILIES)[F][0] extends "counter" ? F : never }[Family];

const WAIT_BOUNDS_S: readonly number[] = [0.001, 0.005, 0.025, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 600];

export class Metrics {
  /** By counter and value of its label. */
  readonly #counts: Map<Counter, Map<string | number, number>> = new Map();
  /** What each cycle of a lock counts several times is not looked up by name. */
  #framesIn = 0;
  #framesOut = 0;
  #granted = 0;
  #released = 0;
  readonly #waits: number[] = Array.from({ length: WAIT_BOUNDS_S.length + 1 }, () => 0);
  #waitSumS = 0;

  count(counter: Counter, value: string | number = ""): void {
    let counts = this.#counts.get(counter);
    if (counts === undefined) {
      counts = new Map();
      this.#counts.set(counter, counts);
    }
    counts.set(value, (counts.get(value) ?? 0) + 1);
  }

  frameIn(): void {
    this.#framesIn += 1;
  }

  frameOut(): void {
    this.#framesOut += 1;
  }

  /** The wait of an acquire that was granted. */
  waited(ms: number): void {
    const seconds = Math.max(ms, 0) / 1000;
    let slot = WAIT_BOUNDS_S.findIndex((bound) => seconds <= bound);
    if (slot === -1) slot = WAIT_BOUNDS_S.length;
    this.#waits[slot] = (this.#waits[slot] ?? 0) + 1;
    this.#waitSumS += seconds;
  }

  /** `isRepeat`: the effect tells something again that was counted before. */
  effect(effect: Effect, isRepeat: boolean): void {
    switch (effect.kind) {
      case "granted":
        if (effect.reentrant) this.count("latchkey_acquires_total", "reentered");
        else if (!isRepeat) this.#granted += 1;
        return;
      case "ended":
        if (effect.again === true) return;
        if (effect.held && effect.outcome === "released") this.#released += 1;
        else if (effect.held) this.count("latchkey_releases_total", effect.outcome);
        else this.count("latchkey_acquires_total", effect.outcome);
        return;
      case "refused":
        this.count("latchkey_refusals_total", effect.code);
        return;
      case "started":
      case "replay":
      case "in_progress":
      case "completed":
      case "failed":
      case "forgotten":
      case "attempt_lost":
        this.count("latchkey_idempotency_total", effect.kind);
        return;
      default:
    }
  }

  told(gauges: Gauges): string {
    const values: Readonly<Record<string, number>> = {
      latchkey_spaces: gauges.spaces,
      latchkey_sockets: gauges.sockets,
      latchkey_sessions: gauges.sessions,
      latchkey_keys: gauges.keys,
      latchkey_holding: gauges.holding,
      latchkey_waiting: gauges.waiting,
      latchkey_attempts: gauges.attempts,
      latchkey_http_calls: gauges.calls,
      latchkey_watches: gauges.watches,
      latchkey_event_streams: gauges.streams,
    };
    const lines: string[] = [];
    for (const [name, [kind, help, label]] of Object.entries(FAMILIES)) {
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`);
      if (kind === "gauge") lines.push(`${name} ${values[name] ?? 0}`);
      else if (kind === "histogram") lines.push(...this.#histogram(name));
      else lines.push(...this.#counter(name as Counter, label));
    }
    return `${lines.join("\n")}\n`;
  }

  #counter(name: Counter, label: string | undefined): string[] {
    const found = [...this.#ownOf(name).filter(([, count]) => count > 0), ...(this.#counts.get(name) ?? [])];
    return found.map(([value, count]) => `${name}${label === undefined ? "" : `{${label}="${value}"}`} ${count}`);
  }

  #ownOf(name: Counter): (readonly [string, number])[] {
    switch (name) {
      case "latchkey_frames_total":
        return [
          ["in", this.#framesIn],
          ["out", this.#framesOut],
        ];
      case "latchkey_acquires_total":
        return [["granted", this.#granted]];
      case "latchkey_releases_total":
        return [["released", this.#released]];
      default:
        return [];
    }
  }

  #histogram(name: string): string[] {
    let total = 0;
    const lines = this.#waits.map((count, slot) => {
      total += count;
      return `${name}_bucket{le="${WAIT_BOUNDS_S[slot] ?? "+Inf"}"} ${total}`;
    });
    return [...lines, `${name}_sum ${this.#waitSumS}`, `${name}_count ${total}`];
  }
}
