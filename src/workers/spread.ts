/** Answers for a whole space whose keys are spread over several objects. */

import { json } from "../host/problem.ts";
import { LIST_COUNT_DEFAULT } from "../protocol/limits.ts";
import type { KeyTold } from "../protocol/server-frames.ts";

/** One of another status stands for all. */
export type Merge = (bodies: readonly string[], request: Request) => Response;

/** How the parts' answers to a request become one; undefined: one part alone answers it. */
export function mergeFor(method: string, path: string): Merge | undefined {
  if (method === "GET" && path === "/v1/latch") return mergeLists;
  if (method === "GET" && path === "/metrics") return mergeMetrics;
  if (method === "DELETE" && /^\/v1\/session\/[^/]+$/.test(path)) return mergeCounts;
  return undefined;
}

/** Each part gave a page of its own: the first of all of them are the first of the space. */
function mergeLists(bodies: readonly string[], request: Request): Response {
  const pages = bodies.map((body) => JSON.parse(body) as { readonly keys: KeyTold[]; readonly next?: string });
  const countMax = Number(new URL(request.url).searchParams.get("count") ?? LIST_COUNT_DEFAULT);
  const all = pages.flatMap(({ keys }) => keys).sort((a, b) => (a.key < b.key ? -1 : 1));
  const keys = all.slice(0, countMax);
  const last = keys.at(-1);
  const goesOn = all.length > keys.length || pages.some(({ next }) => next !== undefined);
  return json(goesOn && last !== undefined ? { keys, next: last.key } : { keys });
}

function mergeCounts(bodies: readonly string[]): Response {
  const counts = bodies.map((body) => (JSON.parse(body) as { readonly count: number }).count);
  return json({ status: "revoked", count: counts.reduce((sum, count) => sum + count, 0) });
}

/** All families are sums: counters, gauges of how many there are, and the buckets of a histogram. */
function mergeMetrics(bodies: readonly string[]): Response {
  const sums = new Map<string, number>();
  const families = new Map<string, string[]>();
  for (const body of bodies) {
    let family: string[] = [];
    for (const line of body.split("\n")) {
      if (line.startsWith("# HELP ")) {
        family = families.get(line) ?? [line];
        families.set(line, family);
      } else if (line.startsWith("#")) {
        if (!family.includes(line)) family.push(line);
      } else if (line !== "") {
        const at = line.lastIndexOf(" ");
        const name = line.slice(0, at);
        if (!family.includes(name)) family.push(name);
        sums.set(name, (sums.get(name) ?? 0) + Number(line.slice(at + 1)));
      }
    }
  }
  const lines = [...families.values()]
    .flat()
    .map((line) => (line.startsWith("#") ? line : `${line} ${sums.get(line)}`));
  const headers = { "content-type": "text/plain; version=0.0.4; charset=utf-8", "cache-control": "no-store" };
  return new Response(`${lines.join("\n")}\n`, { headers });
}
