/** Keys in paths of the HTTP API, and the ids of its requests. */

import { RefusedError } from "./errors.ts";

export function keyPath(kind: "latch" | "idempotency", key: string): string {
  // URL parsers remove such segments, encoded or not.
  if (key === "" || key === "." || key === "..") throw badKey(key, "cannot be sent over HTTP");
  return `/${kind}/${encoded(key)}`;
}

export function encoded(text: string): string {
  try {
    return encodeURIComponent(text);
  } catch {
    throw badKey(text, "has a lone surrogate, which cannot be sent over HTTP");
  }
}

export function requestId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");
}

function badKey(key: string, why: string): RefusedError {
  return new RefusedError("bad_key", `the key ${JSON.stringify(key)} ${why}`);
}
