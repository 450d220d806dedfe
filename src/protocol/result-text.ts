/** Results on the WebSocket, whose frames are text: as they are where they are text, else as base64. */

export interface ResultText {
  readonly result: string;
  readonly encoding?: "base64";
}

export function encodeResult(bytes: Uint8Array): ResultText {
  const text = plainText(bytes);
  return text === undefined ? { result: toBase64(bytes), encoding: "base64" } : { result: text };
}

/** Undefined: it is not base64, or has a lone surrogate, which no bytes stand for. */
export function decodeResult({
  result,
  encoding,
}: {
  result: string;
  encoding?: "base64" | undefined;
}): Uint8Array | undefined {
  if (encoding === "base64") return fromBase64(result);
  return isWellFormed(result) ? new TextEncoder().encode(result) : undefined;
}

/** Undefined where it is no text, or where JSON's escapes would make it longer than base64 does. */
function plainText(bytes: Uint8Array): string | undefined {
  let escapes = 0;
  for (const byte of bytes) {
    if (byte === 0x22 || byte === 0x5c) escapes += 1;
    else if (byte < 0x20) escapes += 5;
  }
  if (escapes > bytes.length / 3) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** So many at a time: as arguments of one call they must fit on the stack. */
const CHUNK = 8192;

function toBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let i = 0; i < bytes.length; i += CHUNK) binary += String.fromCharCode(...bytes.subarray(i, i + CHUNK));
  return btoa(binary);
}

function fromBase64(text: string): Uint8Array | undefined {
  // `atob` takes more than base64 is: two texts would then be the same bytes.
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  try {
    const binary = atob(text);
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    return bytes;
  } catch {
    return undefined;
  }
}

export function isWellFormed(text: string): boolean {
  return !/[\ud800-\udfff]/u.test(text);
}
