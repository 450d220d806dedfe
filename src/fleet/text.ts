/**
 * Text on its way to Redis and back. There strings are bytes: a lone surrogate does not arrive, so that two keys could meet, and bytes
 * sort unlike code units. So each surrogate code unit, paired or not, is written as two characters, and U+D7FF, the first of
 * the two, likewise. What comes out is well-formed, different for different texts, and its UTF-8 bytes sort as the code units do.
 */

const MARK = "\ud7ff";
/** The second character is this far from where the code units of the range begin: no control characters, no surrogates. */
const SHIFT = 0xd7ff - 0x100;

/** The value as JSON, its texts as Redis is to have them. Names of properties are ours and stay. */
export function encodeJson(value: object): string {
  const plain = JSON.stringify(value);
  if (!/[\ud7ff-\udfff]|\\ud[89a-f]/.test(plain)) return plain;
  return JSON.stringify(value, (_name, inner: unknown) => (typeof inner === "string" ? encodeText(inner) : inner));
}

/** Takes what was parsed from `json`, and gives texts back as they were. */
export function decodeParsed<T>(parsed: T, json: string): T {
  return json.includes(MARK) ? (decodeValue(parsed) as T) : parsed;
}

export function encodeText(text: string): string {
  return text.replaceAll(/[\ud7ff-\udfff]/g, (unit) => MARK + String.fromCharCode(unit.charCodeAt(0) - SHIFT));
}

export function decodeText(text: string): string {
  return text.replaceAll(/\ud7ff([^])/g, (_pair, second: string) => String.fromCharCode(second.charCodeAt(0) + SHIFT));
}

function decodeValue(value: unknown): unknown {
  if (typeof value === "string") return decodeText(value);
  if (Array.isArray(value)) return value.map(decodeValue);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, decodeValue(inner)]));
}
