import type { Acquire, Mode } from "../../src/core/command.ts";
import type { AskRecord } from "../../src/core/record.ts";
import type { Outcome } from "../../src/core/lifecycle.ts";

/** A live claim as somebody knows it who only reads commands and effects. */
export interface Seen {
  readonly from: string;
  readonly request: string;
  /** Undefined for callers, and once a kept lock's session is over. */
  session: string | undefined;
  readonly key: string;
  readonly mode: Mode;
  readonly limit: number | undefined;
  readonly ticket: number;
  readonly keep: boolean;
  readonly ttlMs: number | undefined;
  state: "waiting" | "holding";
  /** While waiting. */
  readonly waitsUntil: number;
  ask: AskRecord | undefined;
  /** While holding. */
  token: string;
  fence: number;
  expiresAt: number;
}

export interface SeenSession {
  readonly id: string;
  readonly graceMs: number;
  /** When its grace ends; Infinity while it is connected. */
  endsAt: number;
}

export interface SeenEnd {
  readonly outcome: Outcome;
  readonly held: boolean;
}

/** The live claims, found in the ways in which effects name them. */
export class SeenClaims {
  readonly #byRequest = new Map<string, Seen>();
  readonly #byKey = new Map<string, Seen[]>();

  all(): Iterable<Seen> {
    return this.#byRequest.values();
  }

  get count(): number {
    return this.#byRequest.size;
  }

  keys(): string[] {
    return [...this.#byKey.keys()];
  }

  find(from: string, request: string): Seen | undefined {
    return this.#byRequest.get(nameOf(from, request));
  }

  holderOf(token: string): Seen | undefined {
    for (const claim of this.#byRequest.values()) {
      if (claim.state === "holding" && claim.token === token) return claim;
    }
    return undefined;
  }

  of(key: string): readonly Seen[] {
    return this.#byKey.get(key) ?? [];
  }

  /** The waiting claims of a key, in order of arrival. */
  queue(key: string): Seen[] {
    return this.of(key).filter((claim) => claim.state === "waiting");
  }

  holders(key: string): Seen[] {
    return this.of(key).filter((claim) => claim.state === "holding");
  }

  add(asked: Acquire, ticket: number, now: number): Seen {
    const claim: Seen = {
      from: asked.from,
      request: asked.request,
      session: asked.session ? asked.from : undefined,
      key: asked.key,
      mode: asked.mode,
      limit: asked.limit,
      ticket,
      keep: asked.keep === true,
      ttlMs: asked.ttlMs,
      state: "waiting",
      waitsUntil: now + (asked.timeoutMs ?? Infinity),
      ask: undefined,
      token: "",
      fence: 0,
      expiresAt: Infinity,
    };
    this.#byRequest.set(nameOf(claim.from, claim.request), claim);
    const others = this.#byKey.get(claim.key);
    if (others === undefined) this.#byKey.set(claim.key, [claim]);
    else others.push(claim);
    return claim;
  }

  remove(claim: Seen): void {
    this.#byRequest.delete(nameOf(claim.from, claim.request));
    const others = this.of(claim.key).filter((other) => other !== claim);
    if (others.length === 0) this.#byKey.delete(claim.key);
    else this.#byKey.set(claim.key, others);
  }
}

export function nameOf(from: string, request: string): string {
  return `${from} ${request}`;
}
