/** What Linux says of a process: its time on the cores and its memory. Elsewhere nothing is known. */

import { readdirSync, readFileSync } from "node:fs";

const PAGE_BYTES = 4096;

export interface Usage {
  readonly cpuMs: number;
  /** Of that in the program and in the kernel, as the kernel's ticks of 10 ms tell it. */
  readonly userTicks: number;
  readonly systemTicks: number;
  readonly residentBytes: number;
}

interface Stat {
  readonly parent: number;
  readonly userTicks: number;
  readonly systemTicks: number;
  readonly residentBytes: number;
}

/** How many files, sockets among them, a process may have open at most; undefined where nobody tells. */
export function openFilesMax(): number | undefined {
  try {
    const [, most] = /^Max open files\s+\S+\s+(\d+)/m.exec(readFileSync("/proc/self/limits", "utf8")) ?? [];
    return most === undefined ? undefined : Number(most);
  } catch {
    return undefined;
  }
}

/** Of a process with all that it has started: Postgres has one for each connection. */
export function usageOf(pid: number): Usage | undefined {
  let total: Usage | undefined;
  for (const [member, { residentBytes, userTicks, systemTicks }] of familyOf(pid)) {
    total = {
      cpuMs: (total?.cpuMs ?? 0) + cpuMsOf(member),
      userTicks: (total?.userTicks ?? 0) + userTicks,
      systemTicks: (total?.systemTicks ?? 0) + systemTicks,
      residentBytes: (total?.residentBytes ?? 0) + residentBytes,
    };
  }
  return total;
}

/** The process and all that it has started, as far as they run. */
export function pidsOf(pid: number): readonly number[] {
  return [...familyOf(pid).keys()];
}

function familyOf(pid: number): ReadonlyMap<number, Stat> {
  const parents = new Map<number, number>();
  const stats = new Map<number, Stat>();
  try {
    for (const name of readdirSync("/proc")) {
      if (!/^\d+$/.test(name)) continue;
      const stat = readStat(Number(name));
      if (stat === undefined) continue;
      parents.set(Number(name), stat.parent);
      stats.set(Number(name), stat);
    }
  } catch {
    return new Map();
  }
  return new Map([...stats].filter(([candidate]) => descends(candidate, pid, parents)));
}

/** Thread by thread in ns: in the kernel's ticks of 10 ms, a hundred backends that did little each would have done nothing. */
function cpuMsOf(pid: number): number {
  try {
    let ns = 0;
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      ns += Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0]);
    }
    return ns / 1e6;
  } catch {
    // It has ended meanwhile.
    return 0;
  }
}

function descends(candidate: number, pid: number, parents: ReadonlyMap<number, number>): boolean {
  for (let at: number | undefined = candidate; at !== undefined && at > 1; at = parents.get(at)) {
    if (at === pid) return true;
  }
  return false;
}

function readStat(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program stands in brackets and may hold anything.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return {
      parent: Number(fields[1]),
      userTicks: Number(fields[11]),
      systemTicks: Number(fields[12]),
      residentBytes: Number(fields[21]) * PAGE_BYTES,
    };
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}
