/** Everything about a host that whoever runs it can choose. */

import {
  type EngineLimits,
  type LedgerLimits,
  RECORD_TTL_DEFAULT_MS,
  RECORD_TTL_MAX_MS,
  RECORD_TTL_MIN_MS,
} from "../core/index.ts";
import {
  DEADLINE_DEFAULT_MS,
  GRACE_MAX_DEFAULT_MS,
  HELLO_TIMEOUT_MS,
  PING_DEFAULT_MS,
  STREAMS_MAX_DEFAULT,
  TTL_DEFAULT_MS,
  TTL_MAX_MS,
  TTL_MIN_MS,
} from "../protocol/limits.ts";
import { isSpace, isUser } from "../protocol/names.ts";

/** `steal`: take keys from their holders. `operate`: revoke holders and sessions. */
export type Permission = "steal" | "operate";

export interface ApiKey {
  readonly secret: string;
  /** Public. Request ids of HTTP callers are unique within it; two keys may share it, for a change of keys without a gap. */
  readonly name: string;
  /** The only space that this key opens. */
  readonly space?: string;
  /** Whose key it is: its sessions are this user's, and cannot say that they are another's. Public. */
  readonly user?: string;
  readonly permissions: readonly Permission[];
}

export interface HostSettings {
  /** The lease of an HTTP acquire that asks for none. */
  readonly ttlDefaultMs: number;
  /** How long an idempotency record is kept that says nothing of it. */
  readonly recordTtlMs: number;
  /** Each session is pinged this often. */
  readonly heartbeatMs: number;
  /** A session that was silent for this long is ended as dropped. */
  readonly deadlineMs: number;
  /** No session gets a longer grace. */
  readonly graceMaxMs: number;
  readonly helloTimeoutMs: number;
  /** Browser origins, besides the host's own, that may call: compared as they are. */
  readonly origins: readonly string[];
  /** Without keys everybody may do everything. */
  readonly keys: readonly ApiKey[];
  /** Put before each key on its way in and taken off on its way out. */
  readonly prefix: string;
  /** No grant for this long after the start: holders from before a restart may not know yet that they lost. */
  readonly quarantineMs: number;
  /** Spaces in use at the same time. */
  readonly spacesMax: number;
  /** Streams of server-sent events that are open at the same time. */
  readonly streamsMax: number;
  readonly limits: Partial<EngineLimits & LedgerLimits>;
  /** Frames a session, and HTTP calls a credential, may send each second on average; also the size of a burst. */
  readonly ratePerSecond: number;
  /**
   * Without keys: serve only requests whose Host is a loopback name. A web page that lets its own name point to
   * 127.0.0.1 (DNS rebinding) is then turned away.
   */
  readonly loopbackHostsOnly: boolean;
  /** What is stored: what outlives its connection, or everything (where memory can vanish while sockets live). */
  readonly persist: "outliving" | "all";
  /**
   * Pages of your own beside the locks, from the same origin: asked for every path at which Latchkey has nothing, behind the
   * checks of Host and Origin. Undefined for what is none of them either: 404. Where Latchkey is embedded it is asked for its
   * own paths only, and the program around it has the pages.
   */
  readonly pages: Pages;
}

export type Pages = (request: Request) => Response | Promise<Response> | undefined;

/** What a caller gives: whatever is absent or undefined takes its default. */
export type HostChoices = { readonly [Name in keyof HostSettings]?: HostSettings[Name] | undefined };

const DEFAULTS: HostSettings = {
  ttlDefaultMs: TTL_DEFAULT_MS,
  recordTtlMs: RECORD_TTL_DEFAULT_MS,
  heartbeatMs: PING_DEFAULT_MS,
  deadlineMs: DEADLINE_DEFAULT_MS,
  graceMaxMs: GRACE_MAX_DEFAULT_MS,
  helloTimeoutMs: HELLO_TIMEOUT_MS,
  origins: [],
  keys: [],
  prefix: "",
  quarantineMs: 0,
  spacesMax: 10_000,
  streamsMax: STREAMS_MAX_DEFAULT,
  limits: {},
  // Far above what one connection needs (a lock and its release are two frames), and below what one core can serve.
  ratePerSecond: 20_000,
  loopbackHostsOnly: true,
  persist: "outliving",
  pages: () => undefined,
};

/** Fills in the defaults. Throws a RangeError for what cannot work: it is told at the start, not at the first request. */
export function completeSettings(choices: HostChoices = {}): HostSettings {
  const chosen = Object.entries(choices).filter(([, value]) => value !== undefined);
  const settings: HostSettings = { ...DEFAULTS, ...(Object.fromEntries(chosen) as Partial<HostSettings>) };
  checkTimes(settings);
  for (const key of settings.keys) checkKey(key);
  for (const origin of settings.origins) checkOrigin(origin);
  return settings;
}

function checkTimes(settings: HostSettings): void {
  const { ttlDefaultMs, heartbeatMs, deadlineMs, graceMaxMs, helloTimeoutMs, quarantineMs } = settings;
  demand(isWhole(ttlDefaultMs, TTL_MIN_MS, TTL_MAX_MS), "ttlDefaultMs must be a lease: 100 to 86400000");
  demand(
    isWhole(settings.recordTtlMs, RECORD_TTL_MIN_MS, RECORD_TTL_MAX_MS),
    "recordTtlMs must be the life of a record: 1000 to 2592000000",
  );
  demand(isWhole(heartbeatMs, 1), "heartbeatMs must be a whole number from 1");
  demand(isWhole(deadlineMs, heartbeatMs + 1), "deadlineMs must be a whole number above heartbeatMs");
  demand(isWhole(graceMaxMs, 0), "graceMaxMs must be a whole number from 0");
  demand(isWhole(helloTimeoutMs, 1), "helloTimeoutMs must be a whole number from 1");
  demand(isWhole(quarantineMs, 0), "quarantineMs must be a whole number from 0");
  demand(isWhole(settings.spacesMax, 1), "spacesMax must be a whole number from 1");
  demand(isWhole(settings.streamsMax, 0), "streamsMax must be a whole number from 0");
  demand(isWhole(settings.ratePerSecond, 1), "ratePerSecond must be a whole number from 1");
}

function checkKey(key: ApiKey): void {
  // The name becomes part of an address inside, so it keeps to characters that mean nothing there.
  demand(isSpace(key.name), "the name of an API key must be 1 to 64 characters of A-Z a-z 0-9 . _ -");
  demand(/^[\x21-\x7e]+$/.test(key.secret), `the API key ${key.name} must be visible ASCII characters`);
  demand(key.space === undefined || isSpace(key.space), `the API key ${key.name} has a space with a wrong name`);
  demand(key.user === undefined || isUser(key.user), `the user of the API key ${key.name} must have 1 to 255 bytes`);
}

/** One that a browser would never send, like one with a path, is a mistake that would look like a refusal later. */
function checkOrigin(origin: string): void {
  const isOrigin = origin === "null" || /^[a-z][a-z0-9+.-]*:\/\/[^\s/?#*A-Z]+$/.test(origin);
  demand(isOrigin, `${origin} is no origin: give scheme://host or scheme://host:port, in lower case, without a path`);
}

function isWhole(value: number, min: number, max: number = Number.MAX_SAFE_INTEGER): boolean {
  return Number.isSafeInteger(value) && value >= min && value <= max;
}

function demand(holds: boolean, message: string): void {
  if (!holds) throw new RangeError(message);
}
