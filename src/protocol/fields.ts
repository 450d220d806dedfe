/** The fields that frames and bodies share, each with its range and a message that says what was expected. */

import * as v from "valibot";
import {
  KEY_BYTES_MAX,
  MESSAGE_BYTES_MAX,
  META_BYTES_MAX,
  REQUEST_CHARS_MAX,
  SEMAPHORE_LIMIT_MAX,
  SESSION_CHARS_MAX,
  TOKEN_CHARS_MAX,
  TTL_MAX_MS,
  TTL_MIN_MS,
  USER_BYTES_MAX,
} from "./limits.ts";
import { isKey, isUser, utf8Bytes } from "./names.ts";

/** A whole number in a range. JSON has no other way to say a duration: "5" and 1.5 are mistakes. */
export function whole(name: string, min: number, max: number) {
  const expected = `${name} must be a whole number from ${min} to ${max}`;
  return v.pipe(v.number(expected), v.safeInteger(expected), v.minValue(min, expected), v.maxValue(max, expected));
}

export function shortText(name: string, charsMax: number) {
  const expected = `${name} must be a string of 1 to ${charsMax} characters`;
  return v.pipe(v.string(expected), v.minLength(1, expected), v.maxLength(charsMax, expected));
}

export const request = shortText("id", REQUEST_CHARS_MAX);
/** The same in a body. */
export const requestId = shortText("request_id", REQUEST_CHARS_MAX);
export const token = shortText("token", TOKEN_CHARS_MAX);
/** The public id of a session. */
export const session = shortText("session", SESSION_CHARS_MAX);
export const ttl = whole("ttl", TTL_MIN_MS, TTL_MAX_MS);
export const mode = v.picklist(["exclusive", "shared"], "mode must be exclusive or shared");
export const limit = whole("limit", 1, SEMAPHORE_LIMIT_MAX);

export function flag(name: string) {
  return v.boolean(`${name} must be true or false`);
}

const keyExpected = `key must be a string of at most ${KEY_BYTES_MAX} bytes`;
export const key = v.pipe(v.string(keyExpected), v.check(isKey, keyExpected));

const metaExpected = `meta must be JSON of at most ${META_BYTES_MAX} bytes`;
export const meta = v.pipe(
  v.unknown(),
  v.check((value) => utf8Bytes(JSON.stringify(value), META_BYTES_MAX) <= META_BYTES_MAX, metaExpected),
);

const messageExpected = `message must be a string of at most ${MESSAGE_BYTES_MAX} bytes`;
export const message = v.pipe(
  v.string(messageExpected),
  v.check((text) => utf8Bytes(text, MESSAGE_BYTES_MAX) <= MESSAGE_BYTES_MAX, messageExpected),
);

const userExpected = `user must be a string of 1 to ${USER_BYTES_MAX} bytes`;
export const user = v.pipe(v.string(userExpected), v.check(isUser, userExpected));

/** Rules between the fields of an acquire, the same on every way in. */
export interface AcquireFields {
  readonly mode?: "exclusive" | "shared" | undefined;
  readonly limit?: number | undefined;
  readonly token?: string | undefined;
  readonly nest?: boolean | undefined;
  readonly steal?: boolean | undefined;
  readonly keep?: boolean | undefined;
  readonly ttl?: number | undefined;
  readonly message?: string | undefined;
}

/** What is contradictory about an acquire, or undefined. */
export function contradiction(acquire: AcquireFields): string | undefined {
  if (acquire.limit !== undefined && acquire.mode !== "shared") return "limit needs mode shared";
  if (acquire.steal === true && acquire.mode === "shared") return "steal needs mode exclusive";
  if (acquire.steal === true && acquire.token !== undefined) return "steal and token exclude each other";
  if (acquire.nest === true && acquire.token === undefined) return "nest needs the token of the claim that holds";
  if (acquire.keep === true && acquire.ttl === undefined) return "keep needs a ttl";
  if (acquire.message !== undefined && acquire.steal !== true) return "message needs steal";
  return undefined;
}
