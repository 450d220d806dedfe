/** What one Redis carries, from what each thing costs it. Pure arithmetic; where the costs come from is not known here. */

export interface Costs {
  /** µs of Redis' one thread, sockets included. A call that has nothing to do: a slow poll, an alarm that others were faster with. */
  readonly emptyMicros: number;
  /** A free key: acquire and release, in two calls. */
  readonly pairMicros: number;
  /** The same where it had to wait, and was granted by another process: two calls and a push. */
  readonly contendedMicros: number;
  /** A lease is extended. */
  readonly renewalMicros: number;
  /** The call in which a lease ends by itself. */
  readonly expiryMicros: number;
  /** A session begins and ends. */
  readonly sessionMicros: number;
  /** In a Cluster every push passes through all masters. */
  readonly pushMicros: number;
  /** A session with one lock. */
  readonly sessionBytes: number;
  readonly spaceBytes: number;
}

/** What goes on in a space. Rates are for each session, a second. */
export interface Load {
  readonly name: string;
  readonly sessions: number;
  readonly pairs: number;
  /** Of pairs. */
  readonly waitShare: number;
  readonly renewals: number;
  readonly expiries: number;
  /** How long a session lasts, s. */
  readonly lifeSeconds: number;
}

export interface Assumed {
  readonly servers: number;
  /** Of each server in each space in which it has anybody. */
  readonly pollsPerSecond: number;
  /** The share of Redis' thread that may be used: a queue before it grows without end near 1. */
  readonly busyMax: number;
}

export interface Carried {
  readonly spaces: number;
  readonly sessions: number;
  readonly pairsPerSecond: number;
  readonly memoryBytes: number;
  /** The share of Redis' work that is slow polls. */
  readonly pollShare: number;
}

/** A poll comes 0.75 to 1 times LOCK_RETRY_INTERVAL after the last answer. */
export const ASSUMED: Assumed = { servers: 3, pollsPerSecond: 1 / 0.875, busyMax: 0.6 };

export function carriedBy(costs: Costs, load: Load, assumed: Assumed = ASSUMED): Carried {
  const polls = pollMicros(costs, load, assumed);
  const all = polls + workMicros(costs, load, assumed);
  const spaces = Math.floor((assumed.busyMax * 1e6) / all);
  const sessions = spaces * load.sessions;
  return {
    spaces,
    sessions,
    pairsPerSecond: sessions * load.pairs,
    memoryBytes: spaces * (costs.spaceBytes + load.sessions * costs.sessionBytes),
    pollShare: polls / all,
  };
}

/** Pairs a second of one space whatever the Redis has besides: a space is in one slot, and no Cluster divides it. */
export function spaceMax(costs: Costs, waitShare: number, { busyMax }: Assumed = ASSUMED): number {
  return (busyMax * 1e6) / pairMicros(costs, waitShare);
}

/** Masters for so many spaces; Infinity when pushes alone would fill each of them. */
export function mastersFor(costs: Costs, load: Load, spaces: number, assumed: Assumed = ASSUMED): number {
  const own = spaces * (pollMicros(costs, load, assumed) + workMicros(costs, load, assumed));
  const everywhere = spaces * load.sessions * load.pairs * load.waitShare * costs.pushMicros;
  const left = assumed.busyMax * 1e6 - everywhere;
  return left > 0 ? Math.ceil(Math.max(0, own - everywhere) / left) || 1 : Number.POSITIVE_INFINITY;
}

/** Another machine's costs, as far as everything is that much slower there. */
export function scaled(costs: Costs, factor: number): Costs {
  const micros = Object.entries(costs).map(([name, cost]) => [name, name.endsWith("Micros") ? cost * factor : cost]);
  return Object.fromEntries(micros) as Costs;
}

function pollMicros({ emptyMicros }: Costs, { sessions }: Load, { servers, pollsPerSecond }: Assumed): number {
  return Math.min(servers, sessions) * pollsPerSecond * emptyMicros;
}

function workMicros(costs: Costs, load: Load, { servers }: Assumed): number {
  const { sessions, pairs, waitShare, renewals, expiries, lifeSeconds } = load;
  // When a lease ends every server that is in the space looks, and all but one find nothing to do.
  const expiry = costs.expiryMicros + (Math.min(servers, sessions) - 1) * costs.emptyMicros;
  const each =
    pairs * pairMicros(costs, waitShare) +
    renewals * costs.renewalMicros +
    expiries * expiry +
    costs.sessionMicros / lifeSeconds;
  return sessions * each;
}

function pairMicros(costs: Costs, waitShare: number): number {
  return (1 - waitShare) * costs.pairMicros + waitShare * costs.contendedMicros;
}
