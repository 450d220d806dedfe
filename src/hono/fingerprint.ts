/** What makes two requests the same one: method, path with its query, and what the body means. */

import { fingerprintOf } from "../client/fingerprint.ts";
import { sha256 } from "./digest.ts";

export async function requestFingerprint(request: Request, body: Uint8Array<ArrayBuffer>): Promise<string> {
  const { pathname, search } = new URL(request.url);
  const address = [request.method, pathname + search];
  const type = mediaTypeOf(request);
  const parsed = isJson(type) ? parse(body) : undefined;
  if (parsed !== undefined) {
    try {
      return await fingerprintOf([...address, "json", parsed.value]);
    } catch {
      // Nested too deep: compared as bytes.
    }
  }
  return fingerprintOf([...address, "bytes", type, await sha256(body)]);
}

function mediaTypeOf(request: Request): string {
  const [type = ""] = (request.headers.get("content-type") ?? "").split(";");
  return type.trim().toLowerCase();
}

function isJson(type: string): boolean {
  return type === "application/json" || type.endsWith("+json");
}

/** Undefined when it is no JSON, or says more than JavaScript can hold: a large integer would be rounded, so two that differ look alike. */
function parse(body: Uint8Array): { readonly value: unknown } | undefined {
  let isExact = true;
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(body);
    const value: unknown = JSON.parse(text, (_name, part: unknown) => {
      if (typeof part === "number" && Math.abs(part) > Number.MAX_SAFE_INTEGER) isExact = false;
      return part;
    });
    return isExact ? { value } : undefined;
  } catch {
    return undefined;
  }
}
