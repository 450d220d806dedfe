import { isWellFormed } from "../protocol/result-text.ts";
import { RefusedError } from "./errors.ts";

/** The bytes of a result. Another text must not become the same ones. */
export function bytesOf(result: Uint8Array | string): Uint8Array {
  if (typeof result !== "string") return result;
  if (isWellFormed(result)) return new TextEncoder().encode(result);
  throw new RefusedError("bad_request", "the result has a lone surrogate, which is no UTF-8");
}
