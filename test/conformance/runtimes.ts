/** The runtimes a server runs on, each with the command that starts it and what it is known to do differently. */

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const MEMORY_DISK = "/dev/shm";

export interface Runtime {
  readonly name: string;
  /** Program and arguments. The binary itself and no wrapper, so that a signal reaches the server. */
  readonly command: readonly string[];
  /**
   * Whether a close code always reaches a peer that goes on sending. Where the runtime ends the connection without reading
   * what is under way, the reset may overtake the code.
   */
  readonly closesPatiently: boolean;
  /** What closes a frame so far past the limit that the runtime may refuse to read it. */
  readonly hugeFrameCode: 1009 | 4413;
  /** How often a session is pinged where nothing else is set, and when one that is silent ends. */
  readonly pingMs: number;
  readonly deadlineMs: number;
  /** Whether the operator chooses where locks are kept: in memory, or in a file that one server has at a time. */
  readonly hasAdapters: boolean;
  /** Whether it is known at once that a caller hangs up while it waits. Elsewhere it keeps its place, and has no turn. */
  readonly seesHangUps: boolean;
  /** How many may wait for a key, and how many claims a session may have. */
  readonly waitersMax: number;
  readonly claimsPerSessionMax: number;
  /** What each server is started with, unless a test says otherwise; servers of one folder have one store. */
  readonly env?: (folder: string) => Readonly<Record<string, string>>;
  /** Where the folder of a server is made, if not where temporary files are. */
  readonly folderIn?: string;
  /** How long the sessions of a server that was killed go on, at most. Absent: to its next start, which has an epoch of its own. */
  readonly leaseMs?: number;
}

const SERVER = {
  pingMs: 5000,
  deadlineMs: 15_000,
  hasAdapters: true,
  seesHangUps: true,
  waitersMax: 100_000,
  claimsPerSessionMax: 10_000,
} as const;

export const bun: Runtime = {
  ...SERVER,
  name: "bun",
  command: [binary("bun"), source("bun")],
  closesPatiently: false,
  hugeFrameCode: 1009,
};

export const deno: Runtime = {
  ...SERVER,
  name: "deno",
  command: [binary("deno"), "run", "-A", "--cached-only", "--no-remote", source("deno")],
  closesPatiently: false,
  hugeFrameCode: 4413,
};

export const node: Runtime = {
  ...SERVER,
  name: "node",
  command: [binary("node"), source("node")],
  closesPatiently: true,
  hugeFrameCode: 1009,
};

/** The program that starts workerd: a signal reaches it, and workerd ends with it. */
export const workers: Runtime = {
  name: "workers",
  command: [binary("node"), inRepository("scripts/workers.ts")],
  closesPatiently: false,
  hugeFrameCode: 4413,
  pingMs: 20_000,
  deadlineMs: 60_000,
  hasAdapters: false,
  seesHangUps: false,
  waitersMax: 10_000,
  claimsPerSessionMax: 2000,
  // Every step waits for the disk before it is told, as it does on Cloudflare; only there no disk is meant.
  ...(existsSync(MEMORY_DISK) && { folderIn: MEMORY_DISK }),
};

export const RUNTIMES: readonly Runtime[] = [bun, deno, node];

function binary(name: string): string {
  return inRepository(`node_modules/.bin/${name}`);
}

function source(name: string): string {
  return inRepository(`runtimes/${name}.ts`);
}

function inRepository(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}
