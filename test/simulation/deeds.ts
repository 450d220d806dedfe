import type { Acquire, Command, Mode } from "../../src/core/command.ts";
import { AskingDeeds } from "./asking-deeds.ts";
import type { Clients, Told } from "./clients.ts";
import type { Coverage } from "./coverage.ts";
import type { ModelSpace } from "./model-space.ts";
import type { Deed, WorldOptions } from "./options.ts";
import { pickOf, type Random } from "./random.ts";

/** Deeds that are a command. The others are things that happen to commands and servers. */
export type Saying = Exclude<Deed, "deliver" | "crashBeforeCommit" | "crashBeforeDelivery">;

/** Turns a deed into a command that somebody may send now. */
export class Deeds {
  readonly #options: WorldOptions;
  readonly #random: Random;
  readonly #clients: Clients;
  readonly #coverage: Coverage;
  readonly #space: () => ModelSpace;
  readonly #asking: AskingDeeds;
  #minted = 0;
  /** How many requests each has made: like real ones, their ids are unique for their sender only. */
  readonly #requests = new Map<string, number>();

  /** `space` tells what is really there, so that most deeds do something. */
  constructor(options: WorldOptions, random: Random, clients: Clients, coverage: Coverage, space: () => ModelSpace) {
    this.#options = options;
    this.#random = random;
    this.#clients = clients;
    this.#coverage = coverage;
    this.#space = space;
    this.#asking = new AskingDeeds(random, clients, space, {
      held: (filter) => this.#held(filter),
      user: (told) => this.#user(told),
      operator: () => this.#operator(),
      request: (from) => this.#request(from),
      key: () => this.#key(),
    });
  }

  /** A command as it arrives: the host mints the token of each acquire and begin, also of one that came before. */
  arrived(command: Command): Command {
    if (command.kind === "begin") return { ...command, newAttempt: this.#mint("a") };
    return command.kind === "acquire" ? { ...command, newToken: this.#mint("t") } : command;
  }

  /** Undefined when nobody is there who could do it. */
  say(deed: Saying): Command | undefined {
    const random = this.#random;
    const clients = this.#clients;
    switch (deed) {
      case "open":
        return this.#open();
      case "resume": {
        const broken = clients.lasting().filter((peer) => !peer.isConnected);
        const isTakeover = random.chance(0.2);
        const peer = pickOf(random, isTakeover ? clients.connected() : broken);
        if (isTakeover && peer) this.#coverage.add("resumed while connected");
        return peer && { kind: "resume", session: peer.id, secret: peer.secret };
      }
      case "resumeWrong": {
        const peer = pickOf(random, clients.peers);
        const other = pickOf(
          random,
          clients.peers.filter((one) => one !== peer),
        )?.secret;
        return peer && { kind: "resume", session: peer.id, secret: other ?? "wrong" };
      }
      case "drop":
      case "bye": {
        const peer = pickOf(random, clients.connected());
        if (peer) peer.isConnected = false;
        if (peer && deed === "bye") peer.isOver = true;
        return peer && { kind: deed, session: peer.id };
      }
      case "acquire":
        return this.#acquire({});
      case "try":
        return this.#acquire({ timeoutMs: 0 });
      case "steal": {
        const message = this.#maybe(0.5, "mine");
        return this.#acquire({ mode: "exclusive", steal: true, ...message });
      }
      case "mismatch":
        return this.#acquire({ mode: "shared", limit: random.between(1, 5) });
      case "reenter":
      case "nest":
        return this.#reenter(this.#held(), deed === "nest");
      case "cancel": {
        const acquire = this.#asked();
        return acquire && { kind: "cancel", from: acquire.from, request: acquire.request };
      }
      case "hangUp": {
        const acquire = this.#asked((asked) => !asked.session || random.chance(0.2));
        return acquire && { kind: "cancel", from: acquire.from, request: acquire.request, forget: true };
      }
      case "extend":
        return this.#extend(this.#held());
      case "release":
        return this.#release(this.#held());
      case "ask":
      case "askNoMore":
      case "showAsks":
      case "hand":
      case "handAstray":
      case "repeatHand":
        return this.#asking.say(deed);
      case "repeatSame":
        return this.#repeat(random.chance(0.7) ? this.#asked() : pickOf(random, clients.nests));
      case "repeatOther":
        return this.#repeatOther(this.#asked());
      case "repeatRelease":
        return pickOf(random, clients.releases);
      case "staleToken": {
        const told = pickOf(random, clients.lost) ?? this.#foreign({ key: this.#key(), token: "never minted" });
        return this.#use(told);
      }
      case "foreignToken": {
        const told = pickOf(random, clients.held);
        return told && this.#use(this.#foreign({ key: this.#key(), token: told.token }));
      }
      case "revokeKey":
        return { kind: "revoke_key", ...this.#operator(), key: this.#key(), ...this.#maybe(0.5, "sorry") };
      case "revokeSession": {
        const peer = pickOf(random, clients.peers);
        const session = peer?.id ?? "nobody";
        return { kind: "revoke_session", ...this.#operator(), session, ...this.#maybe(0.5, "sorry") };
      }
      case "status":
        return { kind: "status", ...this.#operator(), key: this.#key(), ...this.#of() };
      case "list": {
        const prefix = random.pick(["", "/", "/foo", "/foobar", "1", "\ud800"]);
        const after = random.chance(0.4) ? { after: this.#key() } : {};
        return {
          kind: "list",
          ...this.#operator(),
          prefix,
          ...after,
          countMax: random.pick([1, 2, 100]),
          ...(random.chance(0.5) && { queue: true }),
          ...this.#of(),
        };
      }
      case "tick":
        return { kind: "tick" };
    }
  }

  #open(): Command | undefined {
    const random = this.#random;
    const clients = this.#clients;
    if (clients.lasting().length >= this.#options.sessions) return undefined;
    const id = this.#mint("s");
    const secret = this.#mint("secret");
    clients.addPeer({ id, secret, isConnected: false, isOver: false });
    const graceMs = random.chance(this.#options.grace) ? this.#duration(3000) : 0;
    const meta = random.chance(0.3) ? { meta: `"session ${id}"` } : {};
    const user = random.chance(0.3) ? { user: random.pick(["ada", "bo"]) } : {};
    return { kind: "open", session: id, secret, graceMs, ...meta, ...user };
  }

  #acquire(changes: Partial<Acquire>): Acquire | undefined {
    const random = this.#random;
    const from = this.#asker();
    if (from === undefined) return undefined;
    const session = !from.startsWith("@");
    const at = random.between(0, this.#options.keys.length - 1);
    const keyLimit = this.#options.keyLimits[at];
    const isShared = random.chance(keyLimit === undefined ? this.#options.shared : 0.95);
    const mode: Mode = changes.mode ?? (isShared ? "shared" : "exclusive");
    const keep = session && random.chance(this.#options.keep);
    const isLeased = !session || keep || random.chance(this.#options.leased);
    const waits = random.chance(0.8);
    return {
      kind: "acquire",
      from,
      request: this.#request(from),
      session,
      key: this.#options.keys[at] ?? "",
      mode,
      ...(keyLimit !== undefined && mode === "shared" && { limit: keyLimit }),
      ...(waits && { timeoutMs: this.#duration(this.#options.timeoutMaxMs) }),
      ...(isLeased && { ttlMs: this.#ttl() }),
      ...(keep && { keep }),
      ...(random.chance(0.15) && { meta: `"claim ${this.#minted}"` }),
      ...changes,
      newToken: "",
    };
  }

  #reenter(told: Told | undefined, nest: boolean): Acquire | undefined {
    if (told === undefined) return undefined;
    const random = this.#random;
    const from = random.chance(0.9) ? told.from : this.#asker();
    if (from === undefined) return undefined;
    return {
      kind: "acquire",
      from,
      request: this.#request(from),
      session: !from.startsWith("@"),
      key: told.key,
      mode: random.pick(["exclusive", "shared"]),
      ...(random.chance(0.6) && { ttlMs: this.#ttl() }),
      token: told.token,
      ...(nest && { nest }),
      newToken: "",
    };
  }

  #extend(told: Told | undefined): Command | undefined {
    if (told === undefined) return undefined;
    return { kind: "extend", ...this.#user(told), key: told.key, token: told.token, ttlMs: this.#ttl() };
  }

  #release(told: Told | undefined): Command | undefined {
    return told && { kind: "release", ...this.#user(told), key: told.key, token: told.token };
  }

  #use(told: Told): Command | undefined {
    const way = this.#random.pick(["extend", "release", "reenter", "nest"] as const);
    if (way === "extend") return this.#extend(told);
    if (way === "release") return this.#release(told);
    return this.#reenter(told, way === "nest");
  }

  /** The same request, now and then in other words: a flag that is not set may be there or not. */
  #repeat(acquire: Acquire | undefined): Acquire | undefined {
    if (acquire === undefined || this.#random.chance(0.8)) return acquire;
    const { nest = false, steal = false, keep = false } = acquire;
    return { ...acquire, nest, steal, keep };
  }

  /** The same request for something else. */
  #repeatOther(acquire: Acquire | undefined): Acquire | undefined {
    const random = this.#random;
    if (acquire === undefined) return undefined;
    const token = pickOf(random, this.#clients.held)?.token;
    const nest = pickOf(random, this.#clients.nests);
    const { steal: _steal, limit: _limit, ...plain } = acquire;
    const others: (Acquire | undefined)[] = [
      { ...acquire, key: this.#key() },
      { ...plain, mode: acquire.mode === "shared" ? "exclusive" : "shared" },
      { ...plain, mode: "shared", limit: 7 },
      { ...plain, mode: "exclusive", steal: true },
      { ...acquire, timeoutMs: (acquire.timeoutMs ?? 1) + 1 },
      { ...acquire, ttlMs: (acquire.ttlMs ?? 100) + 1 },
      { ...acquire, meta: '"other"' },
      { ...acquire, message: "other" },
      token === undefined ? undefined : { ...acquire, token },
      // A request that went into a depth asks for a claim of its own: it may, as it never made one.
      nest?.session === acquire.session ? { ...acquire, from: nest.from, request: nest.request } : undefined,
    ];
    return pickOf(
      random,
      others.filter((other) => other !== undefined),
    );
  }

  #asker(): string | undefined {
    const random = this.#random;
    const { callers, anonymous } = this.#options;
    const peers = random.chance(0.05) ? this.#clients.peers : this.#clients.connected();
    const isCaller = callers > 0 && (peers.length === 0 || random.chance(anonymous));
    return isCaller ? `@${random.between(1, callers)}` : pickOf(random, peers)?.id;
  }

  #user(told: Told): { from: string; request: string } {
    const from = this.#random.chance(0.9) ? told.from : (this.#asker() ?? told.from);
    return { from, request: this.#request(from) };
  }

  #operator(): { from: string; request: string } {
    const from = this.#random.chance(0.3) ? (this.#asker() ?? "@operator") : "@operator";
    return { from, request: this.#request(from) };
  }

  /** A lock that somebody believes to hold; mostly he is right. */
  #held(filter: (told: Told) => boolean = () => true): Told | undefined {
    const held = this.#clients.held.filter(filter);
    const right = held.filter(({ token }) => this.#space().byToken(token)?.state === "holding");
    return pickOf(this.#random, this.#random.chance(0.85) ? right : held);
  }

  /** An acquire of before; mostly of somebody who is still there. */
  #asked(filter: (asked: Acquire) => boolean = () => true): Acquire | undefined {
    const acquires = this.#clients.acquires.filter(filter);
    const here = acquires.filter(({ session, from }) => !session || this.#space().session(from) !== undefined);
    return pickOf(this.#random, this.#random.chance(0.85) ? here : acquires);
  }

  #foreign({ key, token }: { key: string; token: string }): Told {
    return { from: this.#asker() ?? "@thief", request: "", key, token };
  }

  /** Sessions whose places are wanted, some of which are over. */
  #of(): { of?: readonly string[] } {
    const of = this.#clients.peers.filter(() => this.#random.chance(0.5)).map(({ id }) => id);
    return this.#random.chance(0.6) ? { of } : {};
  }

  #key(): string {
    return this.#random.pick(this.#options.keys);
  }

  #ttl(): number {
    const random = this.#random;
    return random.chance(0.02) ? 86_400_000 : 100 + this.#duration(this.#options.ttlMaxMs) - this.#options.tickMs;
  }

  /** At least one tick, often short. */
  #duration(maxMs: number): number {
    const random = this.#random;
    const ticks = Math.ceil(maxMs / this.#options.tickMs);
    return random.between(1, random.chance(0.5) ? Math.ceil(ticks / 10) : ticks) * this.#options.tickMs;
  }

  #maybe(probability: number, message: string): { message?: string } {
    return this.#random.chance(probability) ? { message } : {};
  }

  #request(from: string): string {
    const count = (this.#requests.get(from) ?? 0) + 1;
    this.#requests.set(from, count);
    return `r${count}`;
  }

  #mint(prefix: string): string {
    return `${prefix}${++this.#minted}`;
  }
}
