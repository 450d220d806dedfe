/** How often processes call the kernel, as `perf` counts it without slowing them, and the bytes of a server's sockets, as `ss` does. */

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

export interface Calls {
  readonly all: number;
  /** Of those that are told apart, by name. */
  readonly named: ReadonlyMap<string, number>;
  /** Memory that was touched for the first time, or again after it was given back. */
  readonly pageFaults: number;
}

const ALL = "raw_syscalls:sys_enter";
const FAULTS = "page-faults";
const NAMED = "syscalls:sys_enter_";
const NAMES = [
  "read",
  "readv",
  "recvfrom",
  "recvmsg",
  "write",
  "writev",
  "sendto",
  "sendmsg",
  "futex",
  "madvise",
].concat(["epoll_wait", "epoll_pwait", "epoll_pwait2", "epoll_ctl", "timerfd_settime", "pwrite64", "fdatasync"]);
/** Until it counts. */
const ATTACH_MS = 400;

/** Undefined where there is no perf, or where it may not look. */
export async function callsDuring(pids: readonly number[], work: () => Promise<void>): Promise<Calls | undefined> {
  const events = [ALL, FAULTS, ...NAMES.map((name) => NAMED + name)].join(",");
  const child = spawn("perf", ["stat", "-x", ",", "-e", events, "-p", pids.join(",")], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let told = "";
  child.stderr.on("data", (chunk: Buffer) => {
    told += chunk.toString();
  });
  child.on("error", () => undefined);
  const closed = once(child, "close").catch(() => undefined);
  await Promise.race([closed, sleep(ATTACH_MS)]);
  await work();
  child.kill("SIGINT");
  await closed;
  return countsIn(told);
}

/** Lines of count, unit, event, and more. */
export function countsIn(table: string): Calls | undefined {
  const counts = new Map<string, number>();
  for (const line of table.split("\n")) {
    const [count = "", , event = ""] = line.split(",");
    if (/^\d+$/.test(count)) counts.set(event, Number(count));
  }
  const all = counts.get(ALL);
  if (all === undefined) return undefined;
  const named = new Map(NAMES.map((name) => [name, counts.get(NAMED + name) ?? 0]));
  return { all, named, pageFaults: counts.get(FAULTS) ?? 0 };
}

/** Of all sockets that are open at this port, in both directions; undefined where nobody tells. */
export function bytesAt(port: string): number | undefined {
  try {
    const told = execFileSync("ss", ["-tinH", `sport = :${port}`], { encoding: "utf8", maxBuffer: 1e8 });
    return [...told.matchAll(/bytes_(?:sent|received):(\d+)/g)].reduce((sum, [, bytes]) => sum + Number(bytes), 0);
  } catch {
    return undefined;
  }
}
