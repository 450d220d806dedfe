/**
 * An answer as it is stored: status, headers and the bytes of the body, byte for byte.
 *
 *   format 1 | kind 1 | status 2 | length of the head 4 | head: JSON of [[name, value], …] | body
 *
 * Numbers are of so many bytes, the highest first.
 */

export interface Answer {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Undefined: it was too large to keep. */
  readonly body: Uint8Array | undefined;
}

/** The content type of the record. */
export const ENVELOPE_TYPE = "application/vnd.latchkey.answer";

const FORMAT = 1;
const KIND_WHOLE = 0;
const KIND_BARE = 1;
const FIXED_BYTES = 8;

export function encodeAnswer({ status, headers, body }: Answer): Uint8Array {
  const head = new TextEncoder().encode(JSON.stringify(headers));
  const bytes = new Uint8Array(FIXED_BYTES + head.byteLength + (body?.byteLength ?? 0));
  const view = new DataView(bytes.buffer);
  view.setUint8(0, FORMAT);
  view.setUint8(1, body === undefined ? KIND_BARE : KIND_WHOLE);
  view.setUint16(2, status);
  view.setUint32(4, head.byteLength);
  bytes.set(head, FIXED_BYTES);
  if (body !== undefined) bytes.set(body, FIXED_BYTES + head.byteLength);
  return bytes;
}

/** Undefined when it is none: somebody else has completed the record, or a later version of this file. */
export function decodeAnswer(bytes: Uint8Array): Answer | undefined {
  if (bytes.byteLength < FIXED_BYTES) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const kind = view.getUint8(1);
  const bodyAt = FIXED_BYTES + view.getUint32(4);
  if (view.getUint8(0) !== FORMAT || kind > KIND_BARE || bodyAt > bytes.byteLength) return undefined;
  const headers = headersOf(bytes.subarray(FIXED_BYTES, bodyAt));
  if (headers === undefined) return undefined;
  return { status: view.getUint16(2), headers, body: kind === KIND_WHOLE ? bytes.slice(bodyAt) : undefined };
}

function headersOf(head: Uint8Array): Answer["headers"] | undefined {
  try {
    const headers: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(head));
    return Array.isArray(headers) && headers.every(isHeader) ? headers : undefined;
  } catch {
    return undefined;
  }
}

function isHeader(value: unknown): value is [string, string] {
  return Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === "string");
}
