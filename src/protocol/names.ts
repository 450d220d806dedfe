/** What a key and a space may be called. */

import { KEY_BYTES_MAX, SPACE_CHARS_MAX, USER_BYTES_MAX } from "./limits.ts";

/**
 * Bytes of a string as UTF-8, with three for each lone surrogate. Counted by hand because TextEncoder would
 * have to allocate, and stops early once the count is past `max`.
 */
export function utf8Bytes(text: string, max: number = Number.POSITIVE_INFINITY): number {
  // A UTF-16 code unit needs at least one byte and at most three.
  if (text.length > max) return text.length;
  let bytes = 0;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) bytes += 1;
    else if (unit < 0x800) bytes += 2;
    else if (unit >= 0xd800 && unit <= 0xdbff && isLowSurrogate(text.charCodeAt(i + 1))) {
      bytes += 4;
      i++;
    } else bytes += 3;
  }
  return bytes;
}

/** Any string, also empty and not well-formed, of at most 255 bytes. */
export function isKey(key: string): boolean {
  return utf8Bytes(key, KEY_BYTES_MAX) <= KEY_BYTES_MAX;
}

/** Who is behind a session: any text, not empty, of at most 255 bytes. */
export function isUser(user: string): boolean {
  return user !== "" && utf8Bytes(user, USER_BYTES_MAX) <= USER_BYTES_MAX;
}

export const SPACE_DEFAULT = "default";

export function isSpace(space: string): boolean {
  return space.length <= SPACE_CHARS_MAX && /^[A-Za-z0-9._-]+$/.test(space);
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
