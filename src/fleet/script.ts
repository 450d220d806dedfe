/**
 * What is said between a process and the script in Redis: calls as arguments, answers and letters back. Pure functions, no connection.
 *
 * A **call** carries commands of one process in one space. What comes about for a process, by its own calls or by those of others, is written
 * to its mailbox in **letters**, numbered without gaps; a call returns all letters that it has not `read` yet, and a letter that another
 * process caused is published as well. Whoever applies letters strictly by number hears every effect once, in the order in which things came about.
 */

import {
  type Command,
  DEFAULT_LEDGER_LIMITS,
  DEFAULT_LIMITS,
  type Effect,
  type EngineLimits,
  isAboutRecord,
  type LedgerLimits,
} from "../core/index.ts";
import { decodeResult, encodeResult } from "../protocol/result-text.ts";
import { decodeParsed, encodeJson } from "./text.ts";

export interface FleetCall {
  readonly space: string;
  /** Unique for ever: whoever is `unknown` joins again under another one. No `:`. */
  readonly process: string;
  /** Rises with each call of this process in this space. A call that was carried out already is not carried out again: its answer is told again. */
  readonly batch: number;
  /** The number of the latest letter that was applied; 0 before the first. Letters up to it are deleted. */
  readonly read: number;
  /** Set until a first answer has come: the process becomes known. Others must know it. */
  readonly join?: FleetJoin;
  /** Somebody here watches: the keys that calls change are published on the space's own channel, from this call on for the length of a lease. */
  readonly watch?: true;
  /** The process goes, after these commands: as if its lease ended now. */
  readonly leave?: true;
  /** Redis' own clock, unless given (tests). Never runs backwards. Then nothing is left to Redis' own expiry either. */
  readonly now?: number;
  readonly settings?: FleetSettings;
  readonly commands: readonly Command[];
}

export interface FleetJoin {
  /** Where letters that others cause are published. May be the same for all spaces and process ids of a program. */
  readonly channel: string;
}

export interface FleetSettings {
  /** From each call on, so long counts the process as alive. */
  readonly leaseMs?: number;
  /** So long a caller that waited on a process that died may turn up on another one. */
  readonly returnMs?: number;
  readonly limits?: Partial<EngineLimits & LedgerLimits>;
  /** After a space was found empty nothing is granted for so long. */
  readonly quarantineMs?: number;
  /** Tickets and fences of a new space are counted from here, not taken from the clock (tests). */
  readonly serialStart?: number;
  /** So many claims and begins are moved in a call until the rest is left to the next one. */
  readonly workMax?: number;
}

export const FLEET_DEFAULTS = { leaseMs: 10_000, returnMs: 5_000, quarantineMs: 0, workMax: 500 } as const;

/** Another process has resumed the session: its old connection is to be closed as taken over, and its end means nothing any more. */
export interface Moved {
  readonly kind: "moved";
  readonly to: string;
}

export type FleetEffect = Effect | Moved;

/** Whether from now on more comes about for this process than it asks for. */
export function isBeginning({ kind }: FleetEffect): boolean {
  return kind === "queued" || kind === "attempt_queued" || kind === "opened" || kind === "resumed";
}

export interface FleetAnswer {
  /**
   * `unknown`: the lease of this process had ended, or Redis has lost everything: nothing was carried out, and its sessions are over
   * or will resume elsewhere.
   */
  readonly standing: "known" | "unknown";
  /** So many commands of the batch were carried out; the rest is for the next call. */
  readonly served: number;
  /** All that are not read yet, by number. */
  readonly letters: readonly Letter[];
  /** By the clock that deadlines are measured with, ms. */
  readonly serverNow: number;
  /** When somebody must call again; Infinity: never. It may be over already. */
  readonly nextDeadline: number;
  /** Another one than before: Redis has lost everything. */
  readonly epoch: string;
  /** The number of the latest keys that were published; absent: nobody watches. */
  readonly touches?: number;
}

export interface Letter {
  readonly number: number;
  readonly effects: readonly FleetEffect[];
  /** Others brought about a grant for a caller: it is opened when Redis knows that it is here. If this process dies before that, the caller has not heard of it. */
  readonly isUnheard?: true;
}

/** What is published on a process's channel. Without `letter`: it is too large for that, and a call will bring it. */
export interface Wake {
  readonly process: string;
  readonly letter?: Letter;
}

/** What is published on a space's own channel. Without `keys`: too many to be named. */
export interface Touched {
  readonly number: number;
  readonly keys: ReadonlySet<string> | undefined;
}

export interface ScriptArguments {
  readonly keys: readonly [string];
  readonly args: readonly string[];
}

/** What `encodeCall` takes as `limits`: they are the same for all calls of a space. The script looks for the few that it needs; one that is not there is infinite. */
export function encodeLimits(limits: FleetSettings["limits"]): string {
  return Object.entries({ ...DEFAULT_LIMITS, ...DEFAULT_LEDGER_LIMITS, ...limits })
    .map(([name, max]) => (max < Number.POSITIVE_INFINITY ? ` ${name}=${max}` : ""))
    .join("");
}

/**
 * `prefix` must not contain a brace: the space in braces decides in which slot of a Cluster all keys are. What every call has stands by itself,
 * since the script reads it faster so; what few have is JSON, or empty.
 */
export function encodeCall(prefix: string, call: FleetCall, limits: string): ScriptArguments {
  const { process, batch, read, join, watch, leave, now, commands, settings = {} } = call;
  const { leaseMs = FLEET_DEFAULTS.leaseMs, limits: _limits, ...others } = settings;
  const isPlain =
    join === undefined && watch === undefined && leave === undefined && now === undefined && isUsual(others);
  const extras = isPlain ? "" : encodeJson({ join, watch, leave, now, ...others });
  const head = [process, `${batch}`, `${read}`, `${leaseMs}`, limits, extras];
  return { keys: [spaceKey(prefix, call.space)], args: [...head, ...commands.map(encodeCommand)] };
}

/** All keys of the space are this one, or begin with it and a colon. */
export function spaceKey(prefix: string, space: string): string {
  return `${prefix}{${space}}`;
}

/** Where the keys are published that calls change. */
export function touchedChannel(prefix: string, space: string): string {
  return `${spaceKey(prefix, space)}:touched`;
}

/** Throws on anything but an answer of the script. */
export function decodeAnswer(reply: unknown): FleetAnswer {
  if (typeof reply !== "string") throw new TypeError("the script's answer is no text");
  const { standing, served, last, letters, now, next, epoch, touches } = decodeParsed(
    JSON.parse(reply) as RawAnswer,
    reply,
  );
  const first = last - letters.length + 1;
  return {
    standing,
    served,
    letters: letters.map((raw, i) => decodeLetter(first + i, raw)),
    serverNow: now,
    nextDeadline: next ?? Number.POSITIVE_INFINITY,
    epoch,
    ...(touches === undefined ? undefined : { touches }),
  };
}

export function decodeTouched(message: string): Touched {
  const { number, keys } = decodeParsed(JSON.parse(message) as RawTouched, message);
  return { number, keys: keys && new Set(keys) };
}

export function decodeWake(message: string): Wake {
  const { process, number, letter } = decodeParsed(JSON.parse(message) as RawWake, message);
  return letter === undefined ? { process } : { process, letter: decodeLetter(number, letter) };
}

interface RawAnswer {
  readonly standing: FleetAnswer["standing"];
  readonly served: number;
  readonly last: number;
  readonly letters: readonly RawLetter[];
  readonly now: number;
  readonly next?: number;
  readonly epoch: string;
  readonly touches?: number;
}

interface RawTouched {
  readonly number: number;
  readonly keys?: readonly string[];
}

interface RawWake {
  readonly process: string;
  readonly number: number;
  readonly letter?: RawLetter;
}

/** Each result stands once in a letter, however many hear it. */
interface RawLetter {
  readonly effects: readonly FleetEffect[];
  readonly results?: readonly string[];
  readonly unheard?: true;
}

function isUsual({ returnMs, quarantineMs, serialStart, workMax }: FleetSettings): boolean {
  return returnMs === undefined && !quarantineMs && serialStart === undefined && workMax === undefined;
}

/** What a store would have found for it is not sent: the script looks by itself. */
function encodeCommand(command: Command): string {
  if (!isAboutRecord(command)) return encodeJson(command);
  const { found: _found, ...plain } = command;
  if (plain.kind !== "complete") return encodeJson(plain);
  const { result, ...rest } = plain;
  // Neither JSON nor REST carries bytes. Redis keeps the text as it is: equal bytes are equal texts.
  const { result: text, encoding } = encodeResult(result);
  return encodeJson({ ...rest, result: (encoding === undefined ? "t" : "b") + text, resultBytes: result.length });
}

function decodeLetter(number: number, { effects, results, unheard }: RawLetter): Letter {
  const isUnheard = unheard && ({ isUnheard: true } as const);
  if (results === undefined) return { number, effects, ...isUnheard };
  const bytes = results.map(bytesOf);
  return { number, effects: effects.map((effect) => withResult(effect, bytes)), ...isUnheard };
}

function bytesOf(text: string): Uint8Array {
  const result = text.slice(1);
  const bytes = decodeResult(text.startsWith("b") ? { result, encoding: "base64" } : { result });
  if (bytes === undefined) throw new Error("a stored result is damaged");
  return bytes;
}

function withResult(effect: FleetEffect, results: readonly Uint8Array[]): FleetEffect {
  if (effect.kind !== "replay") return effect;
  const result = results[effect.result as unknown as number];
  if (result === undefined) throw new Error("a letter lacks a result");
  return { ...effect, result };
}
