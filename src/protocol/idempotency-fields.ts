/** The fields of idempotent work, the same in frames and bodies. */

import * as v from "valibot";
import { LEASE_MAX_MS, LEASE_MIN_MS, RECORD_TTL_MAX_MS, RECORD_TTL_MIN_MS } from "../core/index.ts";
import { shortText, whole } from "./fields.ts";
import { CONTENT_TYPE_CHARS_MAX, FINGERPRINT_BYTES_MAX, TOKEN_CHARS_MAX } from "./limits.ts";
import { utf8Bytes } from "./names.ts";

export const attempt = shortText("attempt", TOKEN_CHARS_MAX);
export const lease = whole("lease", LEASE_MIN_MS, LEASE_MAX_MS);
export const recordTtl = whole("ttl", RECORD_TTL_MIN_MS, RECORD_TTL_MAX_MS);

const fingerprintExpected = `fingerprint must be a string of at most ${FINGERPRINT_BYTES_MAX} bytes`;
export const fingerprint = v.pipe(
  v.string(fingerprintExpected),
  v.check((text) => utf8Bytes(text, FINGERPRINT_BYTES_MAX) <= FINGERPRINT_BYTES_MAX, fingerprintExpected),
);

const typeExpected = `type must be 1 to ${CONTENT_TYPE_CHARS_MAX} visible ASCII characters and spaces`;
/** It becomes a header when the result is replayed. */
export const contentType = v.pipe(v.string(typeExpected), v.check(isContentType, typeExpected));

export function isContentType(text: string): boolean {
  return text.length <= CONTENT_TYPE_CHARS_MAX && /^[!-~](?:[ -~]*[!-~])?$/.test(text);
}
