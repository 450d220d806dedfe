/** Reads an HTTP request: path segments, space, request id and body. Whatever is wrong comes back as a problem. */

import * as v from "valibot";
import { BODY_BYTES_MAX, KEY_BYTES_MAX, REQUEST_CHARS_MAX } from "../protocol/limits.ts";
import { isKey, isSpace, SPACE_DEFAULT } from "../protocol/names.ts";
import type { Credential } from "./auth.ts";
import { expected } from "./codec.ts";
import { problem } from "./problem.ts";

/** Each text is decoded in one piece, so that nothing of one is left for the next. */
const UTF8 = new TextDecoder("utf-8", { fatal: true });

/** The path as it was sent: percent signs in it are still to be decoded, once and strictly. */
export function rawPath(request: Request): string {
  const { url } = request;
  const start = url.indexOf("/", url.indexOf("://") + 3);
  if (start === -1) return "/";
  const query = url.indexOf("?", start);
  const fragment = url.indexOf("#", start);
  if (query === -1 && fragment === -1) return url.slice(start);
  return url.slice(start, Math.min(...[query, fragment].filter((end) => end !== -1)));
}

/** The third segment of `/v1/latch/{key}/…`. */
export function readKey(request: Request): string | Response {
  const key = decodeSegment(rawPath(request).split("/")[3] ?? "");
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
export function readSpace(request: Request, credential: Credential): string | Response {
  const { url } = request;
  const named = url.includes("?") ? new URL(url).searchParams.get("space") : null;
  const space = named ?? credential.space ?? SPACE_DEFAULT;
  if (!isSpace(space)) return problem("bad_space", "a space is 1 to 64 characters of A-Z a-z 0-9 . _ -");
  if (credential.space === undefined || credential.space === space) return space;
  return problem("forbidden", "this API key is for another space");
}

/** The body as JSON, whatever the content type says, in the shape of the schema. */
export async function readBody<Schema extends v.GenericSchema>(
  request: Request,
  schema: Schema,
): Promise<v.InferOutput<Schema> | Response> {
  const text = await readText(request);
  if (text instanceof Response) return text;
  let value: unknown;
  try {
    value = text.trim() === "" ? {} : JSON.parse(text);
  } catch {
    return problem("bad_json", "the body is not JSON");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return problem("bad_request", "the body must be a JSON object");
  }
  try {
    const result = v.safeParse(schema, value, { abortEarly: true });
    return result.success ? result.output : problem("bad_request", expected(result.issues[0]));
  } catch {
    return problem("bad_request", "the body is nested too deep");
  }
}

/** At most 64 KiB, whether or not the length was announced. */
async function readText(request: Request): Promise<string | Response> {
  const { headers } = request;
  const announced = headers.get("content-length");
  try {
    // Nobody can send more than they announced, and to take all of it at once spares a stream.
    if (announced === null || headers.has("transfer-encoding")) return await readStream(request);
    if (Number(announced) > BODY_BYTES_MAX) return tooLarge();
    return UTF8.decode(await request.arrayBuffer());
  } catch {
    // Cut off, or not UTF-8: to guess at characters could make two different requests alike.
    return problem("bad_json", "the body is not UTF-8 text");
  }
}

async function readStream(request: Request): Promise<string | Response> {
  if (request.body === null) return "";
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const reader = request.body.getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    bytes += part.value.byteLength;
    if (bytes > BODY_BYTES_MAX) {
      await reader.cancel();
      return tooLarge();
    }
    chunks.push(part.value);
  }
  return decode(chunks, bytes);
}

function tooLarge(): Response {
  return problem("too_large", `a body has at most ${BODY_BYTES_MAX} bytes`);
}

function decode(chunks: readonly Uint8Array[], bytes: number): string {
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.byteLength;
  }
  return UTF8.decode(whole);
}

/** The id that makes a repeat the same request: from the header, quoted or bare, or from the body. */
export function readRequestId(request: Request, inBody: string | undefined): string | undefined | Response {
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
