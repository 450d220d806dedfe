/** What a request is about, as a short text to compare. */

/**
 * The same for JSON values that mean the same: the order of an object's members does not matter, and what JSON leaves out is
 * left out. The order of a list does, and `1` is not `"1"`. A SHA-256 digest in base64url, so that any value makes a fingerprint
 * that is short enough, and nobody who reads it learns what it was made of. Rejects with a TypeError what is no JSON.
 */
export async function fingerprintOf(value: unknown): Promise<string> {
  const bytes = new TextEncoder().encode(canonicalJson(value));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return btoa(String.fromCharCode(...digest))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");
}

/** JSON with the members of each object in the order of their names' code units, and without white space. */
export function canonicalJson(value: unknown): string {
  // Once through JSON: what it says of dates, of `toJSON` and of what has no form in it holds here too.
  const text = JSON.stringify(value) as string | undefined;
  if (text === undefined) throw new TypeError("a fingerprint needs a JSON value");
  return written(JSON.parse(text));
}

function written(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(written).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${written(member)}`).join(",")}}`;
}
