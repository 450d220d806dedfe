import type { Command, Hand } from "../../src/core/command.ts";
import type { Effect } from "../../src/core/effect.ts";
import { NEST_MEMORY_MAX } from "../../src/core/limits.ts";
import { Clients } from "./clients.ts";
import { Coverage } from "./coverage.ts";
import { Deeds } from "./deeds.ts";
import { show } from "./equal.ts";
import { demand, SimulationError } from "./failure.ts";
import { Hash } from "./hash.ts";
import { LedgerDeeds } from "./ledger-deeds.ts";
import type { LedgerSaying } from "./ledger-deeds.ts";
import { Auditor } from "./invariants.ts";
import type { Deed, LedgerDeed, Pace, WorldOptions } from "./options.ts";
import { Random } from "./random.ts";
import type { LedgerModel } from "./ledger-model.ts";
import { Server } from "./server.ts";
import type { Report } from "./server.ts";
import { Store } from "./store.ts";

export interface SimulationResult {
  /** Steps of engines, restarts included. */
  readonly steps: number;
  /** Of all effects. */
  readonly hash: string;
  readonly coverage: Coverage;
}

/** What an engine was asked and what it told, for those who want to replay it elsewhere. */
export type Observe = (
  command: Command | undefined,
  now: number,
  effects: readonly Effect[],
  touched: ReadonlySet<string>,
) => void;

const RECENT_MAX = 24;
/** The model looks at everything at every step, so a crowd only costs time. */
const LIVE_MAX = 40;
const UNDERWAY_MAX = 25;

/** Runs one world to its end, or throws a `SimulationError` that says how to see it again. */
export function simulate(options: WorldOptions, observe?: Observe): SimulationResult {
  return new World(options, observe).run();
}

class World {
  readonly #options: WorldOptions;
  readonly #observe: Observe | undefined;
  readonly #random: Random;
  readonly #clients = new Clients();
  readonly #coverage = new Coverage();
  readonly #deeds: Deeds;
  readonly #ledgerDeeds: LedgerDeeds;
  readonly #auditor = new Auditor();
  readonly #store = new Store();
  readonly #hash = new Hash();
  readonly #recent: string[] = [];
  #server: Server;
  #now: number;
  #steps = 0;
  #batch = 1;

  constructor(options: WorldOptions, observe: Observe | undefined) {
    this.#options = options;
    this.#observe = observe;
    this.#random = new Random(~options.seed);
    this.#deeds = new Deeds(options, this.#random, this.#clients, this.#coverage, () => this.#server.model.space);
    const ledger = (): LedgerModel => this.#server.model.ledger;
    this.#ledgerDeeds = new LedgerDeeds(options, this.#random, () => this.#clients.peers, ledger);
    this.#now = this.#random.between(0, 1000) * 1000;
    this.#server = this.#guard(() => new Server(options, this.#store, this.#random, this.#now));
  }

  run(): SimulationResult {
    return this.#guard(() => {
      this.#commit(true);
      while (this.#steps < this.#options.steps) this.#act();
      this.#windUp();
      return { steps: this.#steps, hash: this.#hash.digest(), coverage: this.#coverage };
    });
  }

  #guard<T>(act: () => T): T {
    try {
      return act();
    } catch (error) {
      throw new SimulationError(this.#options, this.#steps, this.#recent, error);
    }
  }

  #act(): void {
    const random = this.#random;
    const { ledger, ledgerDeeds, deeds } = this.#options;
    if (ledger > 0 && random.chance(ledger)) this.#doLedger(random.weighted(ledgerDeeds));
    else this.#do(random.weighted(deeds));
  }

  #doLedger(deed: LedgerDeed): void {
    this.#coverage.add(`deed ${deed}`);
    switch (deed) {
      case "sweep":
        return this.#coverage.add("records swept", this.#server.sweep());
      case "session":
        return this.#do(this.#random.pick(["open", "open", "resume", "drop"]));
      case "crash":
        return this.#crash(this.#random.chance(0.5));
      default:
        return this.#sayLedger(deed);
    }
  }

  #sayLedger(deed: LedgerSaying): void {
    const isCrowded = deed === "begin" && this.#server.model.ledger.begins().length >= LIVE_MAX;
    const command = this.#ledgerDeeds.say(isCrowded ? "complete" : deed);
    if (isCrowded) this.#advance("exact");
    this.#send(command ?? this.#ledgerDeeds.say("begin") ?? { kind: "tick" });
  }

  #do(deed: Deed): void {
    this.#coverage.add(`deed ${deed}`);
    switch (deed) {
      case "crashBeforeCommit":
      case "crashBeforeDelivery":
        return this.#crash(deed === "crashBeforeDelivery");
      case "deliver":
        return this.#deliver();
      default: {
        const isCrowded = this.#server.model.space.live().length >= LIVE_MAX;
        const command = this.#deeds.say(isCrowded && isAcquiring(deed) ? "release" : deed);
        if (isCrowded) this.#advance("exact");
        this.#send(command ?? this.#deeds.say("acquire") ?? { kind: "tick" });
      }
    }
  }

  // What happens to commands.

  #send(command: Command): void {
    const random = this.#random;
    const { late, duplicate } = this.#options;
    this.#clients.note(command);
    this.#ledgerDeeds.note(command);
    // Sessions are opened by the host, which mints their ids: that is not repeated.
    if (command.kind !== "open" && this.#clients.underway.length < UNDERWAY_MAX) {
      if (random.chance(duplicate)) {
        this.#coverage.add("fault duplicate");
        this.#clients.underway.push(command);
      }
      if (random.chance(late)) {
        this.#coverage.add("fault late");
        this.#clients.underway.push(command);
        return;
      }
    }
    this.#step(command);
  }

  #deliver(): void {
    const arrival = this.#clients.arrive(this.#random, this.#options.reorder);
    if (arrival === undefined) return this.#step({ kind: "tick" });
    if (arrival.isEarly) this.#coverage.add("fault reorder");
    this.#step(arrival.command);
  }

  #step(command: Command): void {
    const isBackwards = this.#advance(this.#random.weighted(this.#options.paces));
    this.#ask(command, isBackwards ? this.#now - this.#random.between(1, 5000) : this.#now);
    if (--this.#batch <= 0) this.#commit(true);
  }

  /** Gives the server a command, whatever becomes of it. */
  #ask(sent: Command, now: number): void {
    const command = this.#deeds.arrived(sent);
    this.#log(`${++this.#steps} at ${now}: ${show(command)}`);
    const isKnown = "from" in command && this.#isOver(command.from);
    if (isKnown) this.#coverage.add("fault after the end");
    const handed = command.kind === "hand" ? this.#lookAtHand(command) : [];
    const effects = this.#server.step(command, now);
    this.#record(command, effects);
    const isHanded = effects.some((effect) => effect.kind === "released" && !effect.already);
    for (const name of isHanded ? handed : []) this.#coverage.add(name);
    const isNested = command.kind === "acquire" && command.nest === true;
    const nested = isNested ? this.#server.model.space.byToken(command.token ?? "")?.nested : undefined;
    if (nested?.length === NEST_MEMORY_MAX) this.#coverage.add("nest memory full");
  }

  /** What may come to be said of a hand-over, if it succeeds. */
  #lookAtHand({ key, token, to }: Hand): string[] {
    const { space } = this.#server.model;
    const queue = space.queue(key);
    const isPast = queue[0] !== undefined && queue[0].session !== to;
    const isDeep = (space.byToken(token)?.depth ?? 0) > 1;
    const isAway = space.session(to)?.deadline !== Infinity;
    return [
      "handed over",
      ...(isPast ? ["handed past the queue"] : []),
      ...(isDeep ? ["handed whatever the depth"] : []),
      ...(isAway ? ["handed to a session that is away"] : []),
    ];
  }

  #isOver(from: string): boolean {
    return !from.startsWith("@") && this.#server.model.space.session(from) === undefined;
  }

  // What happens to servers.

  #commit(isDelivered: boolean): void {
    for (const report of this.#server.commit()) {
      if (report.command === undefined) this.#record(undefined, report.effects);
      const isWoken = report.command === undefined && report.effects.some((effect) => effect.kind === "granted");
      if (isWoken) this.#coverage.add("woken by a restart");
      this.#auditor.observe(report);
      if (!isDelivered) continue;
      this.#clients.hear(report.effects);
      this.#ledgerDeeds.hear(report.effects);
    }
    this.#batch = this.#random.between(1, this.#options.batchMax);
  }

  /** Committed or not, nobody is told of the latest steps; a new server starts from what is stored. */
  #crash(isCommitted: boolean): void {
    const random = this.#random;
    const command = this.#deeds.say(random.pick(["acquire", "release", "drop", "extend", "cancel"]));
    if (command !== undefined && command.kind !== "open") this.#ask(command, this.#now);
    if (this.#options.ledger > 0) {
      const asked = this.#ledgerDeeds.say(random.pick(["begin", "complete", "fail", "forget"]));
      if (asked !== undefined) this.#ask(asked, this.#now);
    }
    if (isCommitted) this.#commit(false);
    this.#coverage.add("uncommitted steps lost", this.#server.uncommitted);
    // Where everything is stored, sockets may live longer than the memory behind them.
    const areBroken = this.#options.persist === "all" ? 0.5 : 1;
    this.#clients.breakOff(() => random.chance(areBroken));
    this.#now += random.between(0, random.chance(0.5) ? 2 : 200) * 50;
    this.#auditor.crash(this.#options.persist);
    this.#coverage.add("restored begin that waits", this.#store.ledger.waiterCount);
    this.#server = new Server(this.#options, this.#store, random, this.#now);
    this.#log(`${++this.#steps} at ${this.#now}: a new server starts`);
    for (const claim of this.#server.model.space.claims) {
      this.#coverage.add(`restored ${claim.state}`);
      if (claim.ask !== undefined) this.#coverage.add("restored ask");
    }
    this.#coverage.add("restored session", this.#server.model.space.sessions.length);
    this.#coverage.add("restored attempt", this.#server.model.ledger.running().length);
    this.#commit(true);

    // The host ends the connections that are gone, then everybody looks at what is left.
    const connected = new Set(this.#clients.connected().map((peer) => peer.id));
    for (const { id } of this.#server.model.space.sessions) {
      if (!connected.has(id)) this.#ask({ kind: "drop", session: id }, this.#now);
    }
    for (const key of this.#server.model.space.liveKeys()) {
      this.#ask({ kind: "status", from: "@operator", request: `look ${this.#steps}`, key }, this.#now);
    }
    for (const { key } of this.#server.model.ledger.records) {
      this.#ask({ kind: "record_status", from: "@operator", request: `look ${this.#steps}`, key }, this.#now);
    }
    this.#commit(true);
  }

  // Time.

  /** Says whether the next step is to be told an earlier time. */
  #advance(pace: Pace): boolean {
    const random = this.#random;
    const { tickMs } = this.#options;
    const due = Math.max(this.#now, this.#server.nextDeadline());
    this.#coverage.add(`time ${pace}`);
    switch (pace) {
      case "still":
        return false;
      case "creep":
        this.#now += random.between(1, 20) * tickMs;
        return false;
      case "jump":
        this.#now += random.between(20, 2000) * 50;
        return false;
      case "exact":
        if (due !== Infinity) this.#now = due;
        return false;
      case "oversleep":
        if (due !== Infinity) this.#now = due + random.between(1, random.chance(0.2) ? 5000 : 100) * tickMs;
        return false;
      case "backwards":
        return true;
    }
  }

  // The end.

  /** Everybody goes, time passes, and then nothing may be left. */
  #windUp(): void {
    for (const { id } of this.#server.model.space.sessions) {
      this.#ask({ kind: this.#random.chance(0.5) ? "bye" : "drop", session: id }, this.#now);
    }
    this.#commit(true);
    for (let due = this.#server.nextDeadline(); due !== Infinity; due = this.#server.nextDeadline()) {
      this.#now = Math.max(this.#now, due);
      this.#ask({ kind: "tick" }, this.#now);
      const [report] = this.#server.commit().slice(-1) as [Report];
      this.#auditor.observe(report);
      demand(this.#server.nextDeadline() > this.#now, "what was due was not served", () => ({ now: this.#now }));
    }
    this.#ask({ kind: "tick" }, this.#now);
    const [report] = this.#server.commit().slice(-1) as [Report];
    this.#auditor.observe(report);
    this.#auditor.finish(report);
    // Records that rest are not in the way of anybody, until their time is over.
    this.#store.ledger.sweep(Number.MAX_VALUE);
    demand(this.#store.count === 0, "something is stored when all is over", () => ({ count: this.#store.count }));
  }

  #record(command: Command | undefined, effects: readonly Effect[]): void {
    this.#coverage.addEffects(effects);
    this.#hash.add(this.#now);
    this.#hash.add(effects);
    // The time as the engine counts it: a smaller one than before does not count.
    this.#observe?.(command, this.#server.model.now, effects, this.#server.touched);
  }

  #log(line: string): void {
    this.#recent.push(line);
    if (this.#recent.length > RECENT_MAX) this.#recent.shift();
  }
}

function isAcquiring(deed: Deed): boolean {
  return deed === "acquire" || deed === "try" || deed === "steal" || deed === "mismatch";
}
