/** Processes of one space that speak to the script by hand, in virtual time. */

import type { Command } from "../../../src/core/index.ts";
import type { Acquire, Open } from "../../../src/core/command.ts";
import {
  type FleetAnswer,
  type FleetCall,
  type FleetEffect,
  type FleetSettings,
  spaceKey,
} from "../../../src/fleet/script.ts";
import { PREFIX, type ScriptRunner } from "./script-runner.ts";

let spaces = 0;

export class Company {
  readonly space: string = `company-${++spaces}`;
  /** Undefined: Redis' own. */
  now: number | undefined = 1_000_000;
  readonly #runner: ScriptRunner;
  readonly #settings: FleetSettings;
  readonly #processes = new Map<string, { batch: number; read: number }>();

  constructor(runner: ScriptRunner, settings: FleetSettings = {}) {
    this.#runner = runner;
    this.#settings = settings;
  }

  get key(): string {
    return spaceKey(PREFIX, this.space);
  }

  /** What there is in the space. */
  async counts(): Promise<Readonly<Record<"keys" | "claims" | "sessions" | "processes", unknown>>> {
    const count = (command: string, name: string): Promise<unknown> =>
      this.#runner.send(command, `${this.key}:${name}`);
    return {
      keys: await count("HLEN", "latches"),
      claims: await count("HLEN", "claims"),
      sessions: await count("HLEN", "sessions"),
      processes: await count("ZCARD", "processes"),
    };
  }

  pass(ms: number): void {
    if (this.now !== undefined) this.now += ms;
  }

  /** One call; says what is new for this process. A process joins with its first call. */
  async say(process: string, ...commands: readonly Command[]): Promise<readonly FleetEffect[]> {
    const answer = await this.call(process, commands);
    return effectsOf(answer);
  }

  async call(process: string, commands: readonly Command[], more: Partial<FleetCall> = {}): Promise<FleetAnswer> {
    const known = this.#processes.get(process);
    const state = known ?? { batch: 0, read: 0 };
    this.#processes.set(process, state);
    const answer = await this.#runner.run({
      space: this.space,
      process,
      batch: ++state.batch,
      read: state.read,
      settings: this.#settings,
      commands,
      ...(known === undefined && { join: { channel: `wake-${this.space}` } }),
      ...(this.now !== undefined && { now: this.now }),
      ...more,
    });
    state.batch = Math.max(state.batch, more.batch ?? 0);
    state.read = answer.letters.at(-1)?.number ?? state.read;
    return answer;
  }
}

export function effectsOf({ letters }: FleetAnswer): readonly FleetEffect[] {
  return letters.flatMap(({ effects }) => effects);
}

/** Short: what happened to whom. */
export function brief(effects: readonly FleetEffect[]): readonly string[] {
  return effects.map((effect) => {
    const how = "outcome" in effect ? effect.outcome : "reason" in effect ? effect.reason : undefined;
    const request = "request" in effect ? ` ${effect.request}` : "";
    return `${effect.to}${request} ${effect.kind}${how === undefined ? "" : ` ${how}`}`;
  });
}

export function opening(session: string, graceMs = 0): Open {
  return { kind: "open", session, secret: `secret of ${session}`, graceMs };
}

/** Of a session, or of a caller where `from` begins with `@`. */
export function acquiring(from: string, request: string, more: Partial<Acquire> = {}): Acquire {
  const session = !from.startsWith("@");
  return {
    kind: "acquire",
    from,
    request,
    session,
    key: "key",
    mode: "exclusive",
    newToken: `token of ${from} ${request}`,
    ...(!session && { ttlMs: 60_000, timeoutMs: 60_000 }),
    ...more,
  };
}

export function releasing(from: string, request: string, key = "key"): Command {
  return { kind: "release", from, request: `release ${request}`, key, token: `token of ${from} ${request}` };
}
