/** A color for each subject, the same in all plots: a hue for the runtime or the peer, paler for what is only a control. */

const FIXED: Readonly<Record<string, string>> = {
  "bun ws-raw": "#c2410c",
  "bun ws": "#f97316",
  "bun http": "#fdba74",
  "deno ws-raw": "#1d4ed8",
  "deno ws": "#3b82f6",
  "deno http": "#93c5fd",
  "node ws-raw": "#15803d",
  "node ws": "#22c55e",
  "node http": "#86efac",
  "workerd ws-raw": "#a16207",
  "workerd ws": "#eab308",
  "workerd http": "#fde047",
  "bun in-process": "#9a3412",
  "deno in-process": "#1e3a8a",
  "node in-process": "#14532d",
  "bun hand-over": "#fed7aa",
  "deno hand-over": "#bfdbfe",
  "node hand-over": "#bbf7d0",
  "polling (bun http)": "#78716c",
  "redis-list": "#dc2626",
  "redis-lua": "#fb7185",
  "redis-semaphore": "#f472b6",
  redlock5: "#a21caf",
  redlock4: "#7c3aed",
  "upstash-lock": "#10b981",
  postgres: "#0e7490",
  etcd: "#06b6d4",
  zookeeper: "#4d7c0f",
};

export function colorOf(subject: string): string {
  const fixed = FIXED[subject];
  if (fixed !== undefined) return fixed;
  if (subject.endsWith(" bun")) return "#e7a77f";
  if (subject.endsWith(" deno")) return "#8fb0ea";
  if (subject.endsWith(" node")) return "#8cc79f";
  if (subject.endsWith(" workerd")) return "#e3c56b";
  return "#64748b";
}

export function isFloor(subject: string): boolean {
  return / on (?:bun|deno|node|workerd)$/.test(subject);
}
