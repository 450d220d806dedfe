import type { Acquire, Ask, Command, Hand, Mode } from "../../src/core/command.ts";
import type { Clients, Told } from "./clients.ts";
import type { ModelClaim, ModelSpace } from "./model-space.ts";
import type { LateDeed } from "./options.ts";
import { pickOf, type Random } from "./random.ts";

/** What all deeds are made with. */
export interface Means {
  /** A lock that somebody believes to hold; mostly he is right. */
  held(filter?: (told: Told) => boolean): Told | undefined;
  user(told: Told): { from: string; request: string };
  operator(): { from: string; request: string };
  request(from: string): string;
  key(): string;
}

/** Deeds of who waits for a key and who holds it towards each other. */
export class AskingDeeds {
  readonly #random: Random;
  readonly #clients: Clients;
  readonly #space: () => ModelSpace;
  readonly #means: Means;

  constructor(random: Random, clients: Clients, space: () => ModelSpace, means: Means) {
    this.#random = random;
    this.#clients = clients;
    this.#space = space;
    this.#means = means;
  }

  say(deed: LateDeed): Command | undefined {
    switch (deed) {
      case "ask":
        return this.#ask();
      case "askNoMore":
        return this.#askNoMore();
      case "showAsks":
        return this.#showAsks();
      case "hand":
        return this.#hand(this.#means.held((told) => this.#heirs(told.key).length > 0));
      case "handAstray":
        return this.#handAstray();
      case "repeatHand":
        return pickOf(this.#random, this.#clients.hands);
    }
  }

  #ask(): Ask | undefined {
    const random = this.#random;
    const before = random.chance(0.15) ? pickOf(random, this.#clients.asks) : undefined;
    const acquire = before ? undefined : this.#waiting();
    const [from, claim] = before ? [before.from, before.claim] : [acquire?.from, acquire?.request];
    if (from === undefined || claim === undefined) return undefined;
    const fresh = random.chance(0.7) ? random.pick(["may I?", "please"]) : undefined;
    const message = before === undefined ? fresh : before.message;
    const request = this.#means.request(from);
    return { kind: "ask", from, request, claim, ...(message !== undefined && { message }) };
  }

  #askNoMore(): Ask | undefined {
    const acquire = this.#waiting(({ ask }) => ask !== undefined);
    if (acquire === undefined) return undefined;
    const { from, request: claim } = acquire;
    return { kind: "ask", from, request: this.#means.request(from), claim, withdraw: true };
  }

  #showAsks(): Command | undefined {
    const key = this.#waiting(({ ask }) => ask !== undefined)?.key;
    if (key === undefined) return undefined;
    const isListed = this.#random.chance(0.3);
    if (isListed) return { kind: "list", ...this.#means.operator(), prefix: key, countMax: 100 };
    return { kind: "status", ...this.#means.operator(), key };
  }

  #hand(told: Told | undefined): Hand | undefined {
    if (told === undefined) return undefined;
    const to = pickOf(this.#random, this.#heirs(told.key)) ?? "nobody";
    return { kind: "hand", ...this.#means.user(told), key: told.key, token: told.token, to };
  }

  /** To a writer while others read, a session that may not wait there, by a token that may not hold, or for another key. */
  #handAstray(): Hand | undefined {
    const random = this.#random;
    const barred = random.chance(0.7) ? this.#means.held(({ key }) => this.#isShared(key)) : undefined;
    const told = barred ?? (random.chance(0.7) ? this.#means.held() : pickOf(random, this.#clients.lost));
    const hand = this.#hand(told);
    if (hand === undefined) return undefined;
    const writer = pickOf(random, barred ? this.#heirs(barred.key, "exclusive") : []);
    if (writer !== undefined) return { ...hand, to: writer };
    if (random.chance(0.3)) return { ...hand, key: this.#means.key() };
    return { ...hand, to: pickOf(random, this.#clients.peers)?.id ?? "nobody" };
  }

  /** Sessions that wait for the key. */
  #heirs(key: string, mode?: Mode): string[] {
    const queue = this.#space().queue(key);
    return queue.flatMap(({ session, asked }) => (mode === undefined || asked.mode === mode ? (session ?? []) : []));
  }

  #isShared(key: string): boolean {
    return this.#space().holders(key).length > 1 && this.#heirs(key, "exclusive").length > 0;
  }

  /** An acquire that mostly waits. */
  #waiting(filter: (claim: ModelClaim) => boolean = () => true): Acquire | undefined {
    const claimOf = ({ from, request }: Acquire): ModelClaim | undefined => this.#space().byRequest(from, request);
    const isRight = (claim: ModelClaim | undefined): boolean => claim?.state === "waiting" && filter(claim);
    const right = this.#clients.acquires.filter((acquire) => isRight(claimOf(acquire)));
    return pickOf(this.#random, this.#random.chance(0.85) ? right : this.#clients.acquires);
  }
}
