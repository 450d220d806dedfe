/** A server under test: a process on a free loopback port that is ended by its pid, with the folder that it wrote to. */

import { type ChildProcess, spawn } from "node:child_process";
import { chownSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onCores } from "./cores.ts";

export interface BenchServer {
  readonly url: string;
  /** Undefined for a server that was there before: its memory and time cannot be seen. */
  readonly pid: number | undefined;
  /** Processes beside it, whose time is the server's too. */
  readonly helperPids?: readonly number[];
  stop(): Promise<void>;
}

export interface ServerCommand {
  readonly command: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly folder: string;
  /** The process is ready when a line matches; `url` comes from the match where the caller gives none. */
  readonly ready: RegExp;
  readonly url?: string;
  readonly user?: User | undefined;
}

export interface User {
  readonly uid: number;
  readonly gid: number;
}

const PATIENCE_MS = 20_000;
/** What runs, and the folder of each. */
const alive = new Map<ChildProcess, string>();

// Whatever way the harness ends, nothing of it stays behind. A signal by itself would end it without an `exit`.
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
process.once("exit", () => {
  for (const [child, folder] of alive) {
    child.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  }
});

export async function startServer(wanted: ServerCommand): Promise<BenchServer> {
  const [program = "", ...args] = onCores("server", wanted.command);
  const { PATH = "", HOME = "" } = process.env;
  const env = { PATH, HOME, DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1", ...wanted.env };
  const child = spawn(program, args, { cwd: wanted.folder, env, ...wanted.user });
  alive.set(child, wanted.folder);
  const ended = new Promise<void>((resolve) => {
    child.once("close", () => resolve());
  });
  const stop = async (): Promise<void> => {
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), 3_000);
    await ended;
    clearTimeout(timer);
    alive.delete(child);
    rmSync(wanted.folder, { recursive: true, force: true });
  };
  try {
    const matched = await firstMatch(child, wanted.ready);
    return { url: wanted.url ?? matched, pid: child.pid, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

export function temporaryFolder(user?: User): string {
  const folder = mkdtempSync(join(tmpdir(), "latchkey-bench-"));
  if (user !== undefined) chownSync(folder, user.uid, user.gid);
  return folder;
}

/** For servers that cannot choose one themselves. */
export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

function firstMatch(child: ChildProcess, pattern: RegExp): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = "";
    const fail = (why: string): void => reject(new Error(`${child.spawnfile}: ${why}\n${output.slice(-2_000)}`));
    const timer = setTimeout(() => fail("it did not get ready"), PATIENCE_MS);
    const read = (chunk: Buffer): void => {
      output = (output + chunk.toString()).slice(-20_000);
      const found = pattern.exec(output)?.[0];
      if (found === undefined) return;
      clearTimeout(timer);
      resolve(found);
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.once("error", (error) => fail(error.message));
    child.once("exit", (code) => fail(`it ended with ${code}`));
  });
}
