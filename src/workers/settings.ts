/** A Worker's variables and secrets as settings: the same names as in the environment of the other runtimes. */

import { type Environment, parseSettings, type Settings } from "../cli/settings.ts";

/**
 * Longer than elsewhere, since each ping wakes each object that has sessions: a request and a row. A client that is
 * killed or closed is noticed at once all the same; this is for those that vanish.
 */
const HEARTBEAT_DEFAULT = "20s";
const DEADLINE_DEFAULT = "60s";
/** The platform's own limit for one object. */
const SOCKETS_MAX = 32_768;
const SPREAD_MAX = 1024;

export interface ObjectSettings extends Settings {
  /** Sockets of one object. */
  readonly socketsMax: number;
  /** Over how many objects the keys of a space are spread. */
  readonly spread: number;
}

/** Throws what is wrong, all at once: a Worker with a wrong variable must not serve with a default in its place. */
export function readSettings(env: object): ObjectSettings {
  const texts = Object.entries(env).filter((entry): entry is [string, string] => typeof entry[1] === "string");
  const variables: Environment = {
    LATCHKEY_HEARTBEAT: HEARTBEAT_DEFAULT,
    LATCHKEY_DEADLINE: DEADLINE_DEFAULT,
    ...Object.fromEntries(texts),
  };
  const parsed = parseSettings(variables);
  const errors = parsed.ok ? [] : [...parsed.errors];
  if (parsed.ok && parsed.settings.fleet !== undefined)
    errors.push("LOCK_ADAPTER: on Workers locks are kept in Durable Objects");
  const socketsMax = count(variables, "LATCHKEY_SOCKETS_MAX", SOCKETS_MAX, SOCKETS_MAX, errors);
  const spread = count(variables, "LATCHKEY_SPREAD", 1, SPREAD_MAX, errors);
  if (!parsed.ok || errors.length > 0) throw new RangeError(errors.join("; "));
  return { ...parsed.settings, socketsMax, spread };
}

function count(variables: Environment, name: string, fallback: number, max: number, errors: string[]): number {
  const text = variables[name] ?? "";
  if (text === "") return fallback;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (value < 1 || value > max) errors.push(`${name}: must be a whole number from 1 to ${max}`);
  return value;
}
