/** A process of a fleet as Redis knows it: calls of the script, one by one, without what a server is besides. */

import type { Command } from "../../src/core/index.ts";
import type { Connector } from "../../src/fleet/connector.ts";
import { SCRIPT } from "../../src/fleet/lua/index.ts";
import { decodeAnswer, encodeCall, encodeLimits, type FleetAnswer } from "../../src/fleet/script.ts";

const LIMITS = encodeLimits({});
const PREFIX = "latchkey-bench:";

export class Member {
  readonly name: string = crypto.randomUUID();
  readonly #connector: Connector;
  readonly #space: string;
  #batch = 0;
  #read = 0;
  #now: number | undefined;

  /** With `now` time is the caller's. */
  constructor(connector: Connector, space: string, now?: number) {
    this.#connector = connector;
    this.#space = space;
    this.#now = now;
  }

  /** Under the session of this member, with one claim: its request and its token are `id`. */
  acquire(key: string, id: string, more: { readonly ttlMs?: number } = {}): Command {
    return {
      kind: "acquire",
      from: this.name,
      session: true,
      request: id,
      key,
      mode: "exclusive",
      newToken: id,
      ...more,
    };
  }

  release(key: string, id: string): Command {
    return { kind: "release", from: this.name, request: `${id}-release`, key, token: id };
  }

  open(session: string = this.name): Command {
    return { kind: "open", session, secret: "secret", graceMs: 0 };
  }

  passed(ms: number): void {
    if (this.#now !== undefined) this.#now += ms;
  }

  async call(...commands: readonly Command[]): Promise<FleetAnswer> {
    return this.#send(commands, {});
  }

  async leave(): Promise<void> {
    await this.#send([], { leave: true });
  }

  async #send(commands: readonly Command[], more: { readonly leave?: true }): Promise<FleetAnswer> {
    const batch = ++this.#batch;
    const { keys, args } = encodeCall(
      PREFIX,
      {
        space: this.#space,
        process: this.name,
        batch,
        read: this.#read,
        commands,
        ...more,
        ...(this.#now !== undefined && { now: this.#now }),
        ...(batch === 1 && { join: { channel: channelOf(this.name) } }),
        settings: { leaseMs: 60_000 },
      },
      LIMITS,
    );
    const answer = decodeAnswer(await this.#connector.run({ script: SCRIPT, keys, args }));
    if (answer.served !== commands.length) throw new Error(`${answer.served} of ${commands.length} were served`);
    const refused = answer.letters.flatMap(({ effects }) => effects).find(({ kind }) => kind === "refused");
    if (refused !== undefined) throw new Error(`refused: ${JSON.stringify(refused)}`);
    this.#read = answer.letters.at(-1)?.number ?? this.#read;
    return answer;
  }
}

export function channelOf(process: string): string {
  return `${PREFIX}wake:${process}`;
}
