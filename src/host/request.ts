/** Reads an HTTP request: path segments, space, request id and body. Whatever is wrong comes back as a problem. */

import * as v from "valibot";
import { BODY_BYTES_MAX, KEY_BYTES_MAX, REQUEST_CHARS_MAX } from "../protocol/limits.ts";
import { isKey, isSpace, SPACE_DEFAULT } from "../protocol/names.ts";
import type { Asked } from "./asked.ts";
import type { Credential } from "./auth.ts";
import { expected } from "./codec.ts";
import { problem } from "./problem.ts";

/** Each text is decoded in one piece, so that nothing of one is left for the next. */
const UTF8 = new TextDecoder("utf-8", { fatal: true });

/** The path as it was sent: percent signs in it are still to be decoded, once and strictly. */
export function rawPath(request: Pick<Asked, "url">): string {
  const { url } = request;
  const start = url.indexOf("/", url.indexOf("://") + 3);
  if (start === -1) return "/";
  const query = url.indexOf("?", start);
  const fragment = url.indexOf("#", start);
  if (query === -1 && fragment === -1) return url.slice(start);
  return url.slice(start, Math.min(...[query, fragment].filter((end) => end !== -1)));
}

/** The third segment of `/v1/latch/{key}/…`. */
export function readKey(request: Asked): string | Response {
  return keyOf(rawPath(request).split("/")[3] ?? "");
}

/** The key that is written so in a path. */
export function keyOf(segment: string): string | Response {
  const key = decodeSegment(segment);
  if (key !== undefined && key !== "" && isKey(key)) return key;
  return problem("bad_key", `the key must be 1 to ${KEY_BYTES_MAX} bytes of UTF-8, percent-encoded`);
}

export function decodeSegment(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}

/** A credential that is bound to a space opens no other, and needs not name it. */
export function readSpace(request: Pick<Asked, "url">, credential: Credential): string | Response {
  const { url } = request;
  const query = url.indexOf("?");
  const named = query === -1 ? null : new URLSearchParams(url.slice(query).split("#")[0]).get("space");
  const space = named ?? credential.space ?? SPACE_DEFAULT;
  if (!isSpace(space)) return problem("bad_space", "a space is 1 to 64 characters of A-Z a-z 0-9 . _ -");
  if (credential.space === undefined || credential.space === space) return space;
  return problem("forbidden", "this API key is for another space");
}

export interface BodyOptions {
  /** Default: 64 KiB. */
  readonly bytesMax?: number;
  /** Spares the schema what it would surely read as it is. */
  readonly isPlain?: (value: object) => boolean;
}

/** The body as JSON, whatever the content type says, in the shape of the schema. */
export async function readBody<Schema extends v.GenericSchema>(
  request: Asked,
  schema: Schema,
  { bytesMax = BODY_BYTES_MAX, isPlain }: BodyOptions = {},
): Promise<v.InferOutput<Schema> | Response> {
  const bytes = await readBytes(request, bytesMax);
  if (bytes instanceof Response) return bytes;
  const text = decode(bytes);
  if (text === undefined) return problem("bad_json", NOT_TEXT);
  let value: unknown;
  try {
    value = text.trim() === "" ? {} : JSON.parse(text);
  } catch {
    return problem("bad_json", "the body is not JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return problem("bad_request", "the body must be a JSON object");
  }
  if (isPlain?.(value) === true) return value;
  try {
    const result = v.safeParse(schema, value, { abortEarly: true });
    return result.success ? result.output : problem("bad_request", expected(result.issues[0]));
  } catch {
    return problem("bad_request", "the body is nested too deep");
  }
}

/** One that says that it is longer is not read at all. */
const THROWN_AWAY_BYTES_MAX = 4 * 1024 * 1024;

const NOT_TEXT = "the body is not UTF-8 text";

/** All of the body, whether or not its length was announced. */
export async function readBytes(request: Asked, bytesMax: number): Promise<Uint8Array | Response> {
  const { headers } = request;
  const length = headers.get("content-length");
  const announced = length === null ? 0 : Number(length);
  if (announced > THROWN_AWAY_BYTES_MAX) return tooLarge(bytesMax);
  try {
    // Nobody can send more than they announced, and to take all of it at once spares a stream.
    const isShort = length !== null && announced <= bytesMax && !headers.has("transfer-encoding");
    if (isShort) return bytesOf(await request.arrayBuffer());
    return await readStream(request, bytesMax, announced);
  } catch {
    // Cut off.
    return problem("bad_json", NOT_TEXT);
  }
}

/**
 * One that is too long, and says by how little, is read to its end and thrown away: a peer that is still sending may not hear an
 * answer, and one that keeps its connection would find it closed with the next call.
 */
async function readStream(request: Asked, bytesMax: number, announced: number): Promise<Uint8Array | Response> {
  if (request.body === null) return new Uint8Array();
  const readMax = announced > bytesMax ? announced : bytesMax;
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const reader = request.body.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    bytes += part.value.byteLength;
    if (bytes > readMax) {
      await reader.cancel();
      return tooLarge(bytesMax);
    }
    if (bytes <= bytesMax) chunks.push(part.value);
  }
  return bytes > bytesMax ? tooLarge(bytesMax) : join(chunks, bytes);
}

function tooLarge(bytesMax: number): Response {
  return problem("too_large", `a body has at most ${bytesMax} bytes`);
}

function join(chunks: readonly Uint8Array[], bytes: number): Uint8Array {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return whole;
}

function bytesOf(whole: ArrayBuffer | Uint8Array): Uint8Array {
  return whole instanceof Uint8Array ? whole : new Uint8Array(whole);
}

/** Up to here a text of ASCII costs less by hand than to go to a decoder, which is outside of JavaScript. */
const BY_HAND_BYTES_MAX = 256;

/** Undefined: it is not UTF-8. To guess at characters could make two different requests alike. */
function decode(bytes: Uint8Array): string | undefined {
  if (bytes.length <= BY_HAND_BYTES_MAX && isAscii(bytes)) {
    return String.fromCharCode.apply(null, bytes as unknown as number[]);
  }
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}

function isAscii(bytes: Uint8Array): boolean {
  for (let i = 0; i < bytes.length; i++) if ((bytes[i] as number) > 0x7f) return false;
  return true;
}

/** The id that makes a repeat the same request: from the header, quoted or bare, or from the body. */
export function readRequestId(request: Asked, inBody: string | undefined): string | undefined | Response {
  const header = request.headers.get("idempotency-key");
  if (header === null) return inBody;
  const id = unquote(header.trim());
  if (id === undefined || id === "" || id.length > REQUEST_CHARS_MAX) {
    return problem("bad_request", `Idempotency-Key must be 1 to ${REQUEST_CHARS_MAX} characters, quoted or bare`);
  }
  if (inBody === undefined || inBody === id) return id;
  return problem("bad_request", "Idempotency-Key and request_id differ");
}

/** An RFC 8941 string, or the text itself when it is bare. */
function unquote(text: string): string | undefined {
  if (!text.startsWith('"')) return text;
  if (!/^"(?:[^"\\]|\\["\\])*"$/.test(text)) return undefined;
  return text.slice(1, -1).replaceAll(/\\(["\\])/g, "$1");
}
