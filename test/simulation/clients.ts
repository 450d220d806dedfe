import type { Acquire, Ask, Command, Hand, Release } from "../../src/core/command.ts";
import type { Effect } from "../../src/core/effect.ts";
import type { Random } from "./random.ts";

/** A session as its client knows it. */
export interface Peer {
  readonly id: string;
  readonly secret: string;
  isConnected: boolean;
  /** The client knows that it is over. */
  isOver: boolean;
}

/** A grant that somebody was told of. */
export interface Told {
  readonly from: string;
  readonly request: string;
  readonly key: string;
  readonly token: string;
}

/** So much of the past is sent again: enough to repeat what a server has long forgotten. */
const PAST_MAX = 30;
const NESTS_MAX = 100;

/** Everybody who talks to the server: what they were told, and what of theirs is still on its way. */
export class Clients {
  peers: Peer[] = [];
  /** Locks that somebody believes to hold, and those known to be lost. */
  held: Told[] = [];
  lost: Told[] = [];
  acquires: Acquire[] = [];
  nests: Acquire[] = [];
  releases: Release[] = [];
  hands: Hand[] = [];
  asks: Ask[] = [];
  /** Sent, and not yet arrived. */
  underway: Command[] = [];

  connected(): Peer[] {
    return this.peers.filter((peer) => peer.isConnected);
  }

  lasting(): Peer[] {
    return this.peers.filter((peer) => !peer.isOver);
  }

  /** Only a session with a connection hears anything; callers hear everything. */
  hear(effects: readonly Effect[]): void {
    for (const effect of effects) {
      const peer = this.peers.find((other) => other.id === effect.to);
      // What a resumed session missed is in the snapshot.
      if (peer && !peer.isConnected && effect.kind !== "opened" && effect.kind !== "resumed") {
        if (effect.kind === "refused" && effect.request === "") peer.isOver = true;
        continue;
      }
      this.#hear(effect, peer);
    }
  }

  /** Connections break, and nothing that was underway arrives. */
  breakOff(isBroken: (peer: Peer) => boolean): void {
    for (const peer of this.peers) if (isBroken(peer)) peer.isConnected = false;
    this.underway = [];
  }

  /** Remembers what was sent, so that it can be sent again. */
  note(command: Command): void {
    if (command.kind === "release") push(this.releases, command, PAST_MAX);
    if (command.kind === "hand") push(this.hands, command, PAST_MAX);
    if (command.kind === "ask") push(this.asks, command, PAST_MAX);
    if (command.kind !== "acquire") return;
    if (command.nest) push(this.nests, command, NESTS_MAX);
    else push(this.acquires, command, PAST_MAX);
  }

  addPeer(peer: Peer): void {
    const over = this.peers.filter((other) => other.isOver);
    this.peers = [...this.peers.filter((other) => !other.isOver), ...over.slice(-4), peer];
  }

  /** The next command to arrive, which is not always the first that was sent. */
  arrive(random: Random, reorder: number): { command: Command; isEarly: boolean } | undefined {
    const isEarly = this.underway.length > 1 && random.chance(reorder);
    const at = isEarly ? random.between(1, this.underway.length - 1) : 0;
    const [command] = this.underway.splice(at, 1);
    return command && { command, isEarly };
  }

  #hear(effect: Effect, peer: Peer | undefined): void {
    switch (effect.kind) {
      case "opened":
        if (peer) peer.isConnected = true;
        return;
      case "resumed":
        if (peer) peer.isConnected = true;
        for (const { state, request, key, token } of effect.claims) {
          if (state === "holding" && token !== undefined) this.#hold({ from: effect.to, request, key, token });
        }
        return;
      case "session_ended":
        if (peer) Object.assign(peer, { isConnected: false, isOver: true });
        return;
      case "refused":
        if (peer && effect.request === "") Object.assign(peer, { isConnected: false, isOver: true });
        return;
      case "granted":
        if (!effect.reentrant) this.#hold({ from: effect.to, ...effect });
        return;
      case "ended":
        this.#lose(effect.to, effect.request);
        return;
      case "queued":
      case "lost":
      case "extended":
      case "asked":
      case "released":
      case "revoked":
      case "status":
      case "list":
        return;
      default:
      // What is told about records, others hear.
    }
  }

  #hold({ from, request, key, token }: Told): void {
    if (this.held.some((other) => other.token === token)) return;
    push(this.held, { from, request, key, token }, PAST_MAX);
  }

  #lose(from: string, request: string): void {
    const isIt = (told: Told): boolean => told.from === from && told.request === request;
    for (const told of this.held.filter(isIt)) push(this.lost, told, PAST_MAX);
    this.held = this.held.filter((told) => !isIt(told));
  }
}

function push<T>(list: T[], item: T, countMax: number): void {
  list.push(item);
  if (list.length > countMax) list.shift();
}
