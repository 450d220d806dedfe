/** The environment as settings. A wrong value stops the start with one line that says what was expected. */

import type { ApiKey } from "../host/settings.ts";
import { RECORD_TTL_DEFAULT_MS, RECORD_TTL_MAX_MS, RECORD_TTL_MIN_MS } from "../core/index.ts";
import { isLoopback } from "../address.ts";
import { deadlineMaxMs, fleetTimes } from "../fleet/limits.ts";
import { HOSTNAME_DEFAULT, PORT_DEFAULT, type ServeOptions } from "../options.ts";
import {
  DEADLINE_DEFAULT_MS,
  GRACE_MAX_DEFAULT_MS,
  PING_DEFAULT_MS,
  TTL_DEFAULT_MS,
  TTL_MAX_MS,
  TTL_MIN_MS,
} from "../protocol/limits.ts";
import { formatDuration, parseDuration } from "./duration.ts";
import { parseFleet } from "./fleet-settings.ts";
import { parseKeys } from "./keys.ts";
import { duration, type Fail, oneOf, type Parse, type Read } from "./read.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export interface Settings extends ServeOptions {
  readonly hostname: string;
  readonly port: number;
  readonly keys: readonly ApiKey[];
  readonly heartbeatMs: number;
  readonly deadlineMs: number;
  /** Whether the example page is served, where it is there. */
  readonly demo: boolean;
}

export type ParsedSettings =
  | { readonly ok: true; readonly settings: Settings; readonly color: boolean }
  | { readonly ok: false; readonly errors: readonly string[] };

const DB_DEFAULT = "latchkey.db";
const ALONE = { heartbeatMs: PING_DEFAULT_MS, deadlineMs: DEADLINE_DEFAULT_MS };
const HEARTBEAT_MIN_MS = 100;
const HEARTBEAT_MAX_MS = 10 * 60 * 1000;
const DEADLINE_MAX_MS = 60 * 60 * 1000;
const DAY_MS = 24 * 60 * 60 * 1000;
const PREFIX_CHARS_MAX = 64;

/** A variable that is set to nothing counts as not set. */
export function parseSettings(environment: Environment): ParsedSettings {
  const errors: string[] = [];
  const read: Read = (name, fallback, parse) => {
    const text = environment[name];
    if (text === undefined || text === "") return fallback;
    const fail: Fail = (expected) => void errors.push(`${name}: ${expected}`);
    return parse(text, fail) ?? fallback;
  };

  const adapter = read("LOCK_ADAPTER", "sqlite", oneOf("memory", "sqlite", "redis"));
  const recordAdapter = read("IDEMPOTENCY_ADAPTER", adapter, oneOf("memory", "sqlite", "redis"));
  const isFleet = adapter === "redis";
  if ((recordAdapter === "redis") !== isFleet) {
    errors.push(
      "IDEMPOTENCY_ADAPTER: must be redis when LOCK_ADAPTER is, and only then: a session begins and ends in one place",
    );
  }
  const fleet = isFleet ? parseFleet(read, (problem) => errors.push(problem)) : undefined;
  const times = fleet === undefined ? ALONE : fleetTimes(fleet);
  const db = read("LATCHKEY_DB", DB_DEFAULT, (text) => text);
  const chosen: Omit<Settings, "demo"> = {
    hostname: read("HOST", HOSTNAME_DEFAULT, parseHostname),
    port: read("PORT", PORT_DEFAULT, parsePort),
    db: adapter === "sqlite" ? db : undefined,
    sync: read("LATCHKEY_SYNC", "normal", oneOf("normal", "full")),
    prefix: isFleet ? "" : read("LOCK_PREFIX", "", parsePrefix),
    keys: read("LATCHKEY_KEYS", [], parseKeys),
    origins: read("LATCHKEY_ORIGINS", [], parseOrigins),
    idempotencyDb: recordAdapter === "sqlite" ? db : null,
    recordTtlMs: read("IDEMPOTENCY_TTL", RECORD_TTL_DEFAULT_MS, recordTtl),
    ttlDefaultMs: read("LOCK_TTL", TTL_DEFAULT_MS, duration(TTL_MIN_MS, TTL_MAX_MS)),
    heartbeatMs: read("LATCHKEY_HEARTBEAT", times.heartbeatMs, duration(HEARTBEAT_MIN_MS, HEARTBEAT_MAX_MS)),
    deadlineMs: read("LATCHKEY_DEADLINE", times.deadlineMs, duration(HEARTBEAT_MIN_MS, DEADLINE_MAX_MS)),
    graceMaxMs: read("LATCHKEY_GRACE_MAX", GRACE_MAX_DEFAULT_MS, duration(0, DAY_MS)),
    quarantineMs: read("LATCHKEY_QUARANTINE", 0, duration(0, DAY_MS)),
    ...(fleet && { fleet }),
  };
  // Who sets keys runs a server for others, who did not ask for an example.
  const demo = read("LATCHKEY_DEMO", chosen.keys.length === 0 ? "on" : "off", oneOf("on", "off")) === "on";
  const settings: Settings = { ...chosen, demo };
  const color = read("NO_COLOR", true, () => false);

  // Rules between variables are looked at only when each is right by itself, lest one mistake is told twice.
  if (errors.length === 0) errors.push(...contradictions(settings));
  return errors.length === 0 ? { ok: true, settings, color } : { ok: false, errors };
}

function contradictions({ deadlineMs, heartbeatMs, hostname, keys, fleet }: Settings): string[] {
  const found: string[] = [];
  const deadlineMax = fleet === undefined ? Number.POSITIVE_INFINITY : deadlineMaxMs(fleet);
  if (deadlineMs > deadlineMax) {
    found.push(
      `LATCHKEY_DEADLINE: must be at most ${formatDuration(deadlineMax)}, 0.8 of LATCHKEY_LEASE less LOCK_RETRY_INTERVAL: no client may believe in its locks for longer than Redis in this server`,
    );
  }
  if (deadlineMs <= heartbeatMs) {
    found.push(
      `LATCHKEY_DEADLINE: must be longer than LATCHKEY_HEARTBEAT, which is ${formatDuration(heartbeatMs)}: a session is asked for a sign of life before it is given up`,
    );
  }
  if (keys.length === 0 && !isLoopback(hostname)) {
    found.push(
      `HOST: without LATCHKEY_KEYS only this machine may reach the server, so HOST must be 127.0.0.1, ::1 or localhost`,
    );
  }
  return found;
}

/** 0 is the default, as in earlier systems. */
const recordTtl: Parse<number> = (text, fail) =>
  parseDuration(text) === 0 ? RECORD_TTL_DEFAULT_MS : duration(RECORD_TTL_MIN_MS, RECORD_TTL_MAX_MS)(text, fail);

function parseHostname(text: string, fail: Fail): string | undefined {
  return /^[A-Za-z0-9.:[\]_%-]{1,253}$/.test(text) ? text : fail("must be an address or a host name, without a port");
}

function parsePort(text: string, fail: Fail): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  return port <= 65_535 ? port : fail("must be a whole number from 0 to 65535, where 0 takes a free port");
}

function parsePrefix(text: string, fail: Fail): string | undefined {
  const isShort = text.length <= PREFIX_CHARS_MAX && /^[!-~]+$/.test(text);
  return isShort ? text : fail(`must be at most ${PREFIX_CHARS_MAX} visible ASCII characters`);
}

/** Compared character by character with what browsers send, so a form that no browser sends is a mistake. */
function parseOrigins(text: string, fail: Fail): readonly string[] | undefined {
  const origins = text.split(",").map((origin) => origin.trim());
  if (origins.every(isOrigin)) return origins;
  return fail("must be origins as browsers send them, such as https://app.example.com, separated by commas");
}

function isOrigin(text: string): boolean {
  if (!/^[a-z][a-z0-9+.-]*:\/\/[^\s/?#]+$/.test(text) || !URL.canParse(text)) return false;
  const { origin } = new URL(text);
  // Schemes of browser extensions have no origin in the standard's words, though browsers send one.
  return origin === text || (origin === "null" && text !== "null");
}
