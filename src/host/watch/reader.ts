/** Reads the states of keys for watchers. */

import type { KeyStatus } from "../../core/index.ts";
import { WATCHED_KEYS_MAX } from "../../protocol/limits.ts";
import type { Calls } from "../calls.ts";

/** No name of a credential has a colon. */
const FROM = "@:watch";

/** Why there is no answer. */
export type NoAnswer = "limit" | "unavailable";

export class StateReader {
  readonly #calls: Calls;
  #requestLast = 0;

  constructor(calls: Calls) {
    this.#calls = calls;
  }

  /** `of`: sessions whose places are wanted. */
  async key(key: string, of: readonly string[]): Promise<KeyStatus | undefined> {
    const answer = await this.#calls.ask({ kind: "status", ...this.#address(), key, ...ofMember(of) });
    return answer.kind === "status" ? answer : undefined;
  }

  async keys(keys: Iterable<string>, of: readonly string[]): Promise<readonly KeyStatus[] | undefined> {
    const statuses = await Promise.all([...keys].map((key) => this.key(key, of)));
    return statuses.every((status) => status !== undefined) ? statuses : undefined;
  }

  /** All live keys with the prefix, as they are at one time; `limit`: there are more than may be watched. */
  async prefix(prefix: string, of: readonly string[]): Promise<readonly KeyStatus[] | NoAnswer> {
    const page = { kind: "list", ...this.#address(), prefix, countMax: WATCHED_KEYS_MAX } as const;
    const answer = await this.#calls.ask({ ...page, ...ofMember(of) });
    if (answer.kind !== "list") return "unavailable";
    return answer.more ? "limit" : answer.keys;
  }

  #address(): { from: string; request: string } {
    return { from: FROM, request: `w${++this.#requestLast}` };
  }
}

function ofMember(of: readonly string[]): { of?: readonly string[] } | undefined {
  return of.length === 0 ? undefined : { of };
}
