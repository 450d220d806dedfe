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
  readonly pid: number;
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

/**
 * How much this process has read and written so far, in bytes: nearly all of it through sockets, heads of frames and of HTTP included,
 * while it generates load. Undefined where nobody tells.
 */
export function passedBytes(): number | undefined {
  try {
    const text = readFileSync("/proc/self/io", "utf8");
    const [read = Number.NaN, written = Number.NaN] = [...text.matchAll(/^[rw]char: (\d+)$/gm)].map(([, count]) =>
      Number(count),
    );
    // To read this counts too, the next time.
    return read + text.length + written;
  } catch {
    return undefined;
  }
}

/** Of a process with all that it has started: Postgres has one for each connection. */
export function usageOf(pid: number): Usage | undefined {
  const family = familyOf(pid);
  if (family.length === 0) return undefined;
  return {
    cpuMs: usedMs(new Map(), threadTimesOf(pid)),
    userTicks: family.reduce((sum, { userTicks }) => sum + userTicks, 0),
    systemTicks: family.reduce((sum, { systemTicks }) => sum + systemTicks, 0),
    residentBytes: family.reduce((sum, { residentBytes }) => sum + residentBytes, 0),
  };
}

/** The process and all that it has started, as far as they run. */
export function pidsOf(pid: number): readonly number[] {
  return familyOf(pid).map((member) => member.pid);
}

/**
 * How long each thread of a process, and of all that it has started, has had a core so far, ns. Thread by thread: in the kernel's ticks
 * of 10 ms, a hundred backends that did little each would have done nothing.
 */
export function threadTimesOf(pid: number): ReadonlyMap<string, number> {
  const times = new Map<string, number>();
  for (const { pid: each } of familyOf(pid)) {
    try {
      for (const thread of readdirSync(`/proc/${each}/task`)) {
        times.set(thread, Number(readFileSync(`/proc/${each}/task/${thread}/schedstat`, "utf8").split(" ")[0]));
      }
    } catch {
      // It has ended meanwhile.
    }
  }
  return times;
}

/** Between two readings. What a thread did that has ended meanwhile is not known, and is not taken from the others. */
export function usedMs(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): number {
  let ns = 0;
  for (const [thread, time] of after) ns += time - (before.get(thread) ?? 0);
  return ns / 1e6;
}

function familyOf(pid: number): readonly Stat[] {
  const stats = new Map<number, Stat>();
  try {
    for (const name of readdirSync("/proc")) {
      const stat = /^\d+$/.test(name) ? readStat(Number(name)) : undefined;
      if (stat !== undefined) stats.set(stat.pid, stat);
    }
  } catch {
    return [];
  }
  return [...stats.values()].filter((stat) => descends(stat.pid, pid, stats));
}

function descends(candidate: number, pid: number, stats: ReadonlyMap<number, Stat>): boolean {
  for (let at: number | undefined = candidate; at !== undefined && at > 1; at = stats.get(at)?.parent) {
    if (at === pid) return stats.has(pid);
  }
  return false;
}

function readStat(pid: number): Stat | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name of the program stands in brackets and may hold anything.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return {
      pid,
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
