/** What Linux says of a process: its time on the cores and its memory. Elsewhere nothing is known. */

import { readdirSync, readFileSync } from "node:fs";

/** The kernel counts in ticks of this many ms. */
const TICK_MS = 10;
const PAGE_BYTES = 4096;

export interface Usage {
  readonly cpuMs: number;
  readonly residentBytes: number;
}

/** Of a process with all that it has started: Postgres has one for each connection. */
export function usageOf(pid: number): Usage | undefined {
  const parents = new Map<number, number>();
  const usages = new Map<number, Usage>();
  try {
    for (const name of readdirSync("/proc")) {
      if (!/^\d+$/.test(name)) continue;
      const stat = readStat(Number(name));
      if (stat === undefined) continue;
      parents.set(Number(name), stat.parent);
      usages.set(Number(name), stat);
    }
  } catch {
    return undefined;
  }
  let total: Usage | undefined;
  for (const [candidate, usage] of usages) {
    if (!descends(candidate, pid, parents)) continue;
    total = {
      cpuMs: (total?.cpuMs ?? 0) + usage.cpuMs,
      residentBytes: (total?.residentBytes ?? 0) + usage.residentBytes,
    };
  }
  return total;
}

function descends(candidate: number, pid: number, parents: ReadonlyMap<number, number>): boolean {
  for (let at: number | undefined = candidate; at !== undefined && at > 1; at = parents.get(at)) {
    if (at === pid) return true;
  }
  return false;
}

function readStat(pid: number): (Usage & { readonly parent: number }) | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program stands in brackets and may hold anything.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return {
      parent: Number(fields[1]),
      cpuMs: (Number(fields[11]) + Number(fields[12])) * TICK_MS,
      residentBytes: Number(fields[21]) * PAGE_BYTES,
    };
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}
