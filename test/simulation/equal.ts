/** Whether two plain values are deeply equal. A property that is present as undefined is not the same as an absent one. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!isEqual(a[i], b[i])) return false;
    return true;
  }
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  let count = 0;
  for (const name in left) {
    if (!(name in right) || !isEqual(left[name], right[name])) return false;
    count++;
  }
  for (const _name in right) count--;
  return count === 0;
}

/** A value as text for a person: like JSON, but undefined, Infinity and lone surrogates stay visible. */
export function show(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(show).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    return `{ ${Object.entries(value)
      .map(([name, inner]) => `${name}: ${show(inner)}`)
      .join(", ")} }`;
  }
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
