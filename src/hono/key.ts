/** The Idempotency-Key of a request, and the key of its record. */

import { KEY_BYTES_MAX } from "../protocol/limits.ts";
import { isKey } from "../protocol/names.ts";
import { sha256 } from "./digest.ts";

/** Of the header's value, without its quotes. */
export const HEADER_KEY_BYTES_MAX: number = KEY_BYTES_MAX;

/**
 * The key in a header: an RFC 8941 string in quotes, or bare text without blanks. Undefined when it is neither, empty or too
 * long; so are two headers, which arrive as one with a comma and a blank between them.
 */
export function readHeaderKey(header: string): string | undefined {
  const text = header.trim();
  const key = text.startsWith('"') ? unquoted(text) : text;
  if (key === undefined || key === "" || key.length > HEADER_KEY_BYTES_MAX) return undefined;
  return text.startsWith('"') || /^[\x21-\x7e]+$/.test(key) ? key : undefined;
}

/** Two callers never meet in one record, whatever their names and keys are made of. */
export async function recordKey(prefix: string, principal: string, key: string): Promise<string> {
  const plain = `${prefix}${JSON.stringify([principal, key])}`;
  // A digest begins with a letter where the other form has a bracket, so neither can be taken for the other.
  return isKey(plain) ? plain : `${prefix}sha256-${await sha256(new TextEncoder().encode(plain))}`;
}

function unquoted(text: string): string | undefined {
  if (!/^"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"$/.test(text)) return undefined;
  return text.slice(1, -1).replaceAll(/\\(["\\])/g, "$1");
}
