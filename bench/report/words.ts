/** Figures as people read them. Empty for what is not known. */

export function number(value: number | null | undefined, digits: number): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  return value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

/** From ns, with three digits that matter. */
export function micros(ns: number | null | undefined): string {
  if (ns === null || ns === undefined) return "";
  const value = ns / 1000;
  return number(value, value < 10 ? 1 : 0);
}

export function ratio(value: number | null | undefined): string {
  if (value === null) return "∞";
  if (value === undefined) return "";
  return number(value, value >= 10 ? 1 : value >= 0.1 ? 2 : 4);
}

export function kibibytes(bytes: number | null | undefined): string {
  return bytes === null || bytes === undefined ? "" : number(bytes / 1024, 2);
}

/** `9 s`, `4:05 min`. */
export function duration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} min`;
}
