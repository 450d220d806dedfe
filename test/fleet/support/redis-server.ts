/** A real redis-server of its own on a free port, which keeps nothing and ends with the test. */

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface RedisServer {
  readonly port: number;
  readonly pid: number;
  readonly url: string;
  stop(): Promise<void>;
}

const PORTS_MAX = 5;

/** False where redis-server is not installed; says so once, in one line. */
export function hasRedisServer(): boolean {
  const { status } = spawnSync("redis-server", ["--version"], { stdio: "ignore" });
  if (status === 0) return true;
  console.log("skipped: there is no redis-server here (Debian's package redis-server)");
  return false;
}

/** `more` are further arguments, after those that make it small and quiet. */
export async function startRedisServer(...more: readonly string[]): Promise<RedisServer> {
  for (let tries = 1; ; tries++) {
    try {
      return await startOn(await freePort(), more);
    } catch (error) {
      // Many servers start at once, and one of them may be faster.
      if (tries === PORTS_MAX || !String(error).includes("in use")) throw error;
    }
  }
}

async function startOn(port: number, more: readonly string[]): Promise<RedisServer> {
  const folder = mkdtempSync(join(tmpdir(), "latchkey-redis-"));
  const quiet = ["--bind", "127.0.0.1", "--port", String(port), "--dir", folder, "--save", "", "--appendonly", "no"];
  const server = spawn("redis-server", [...quiet, ...more], { stdio: ["ignore", "pipe", "inherit"] });
  await untilReady(server);
  return {
    port,
    pid: server.pid ?? 0,
    url: `redis://127.0.0.1:${port}`,
    stop: async () => {
      await stop(server);
      rmSync(folder, { recursive: true });
    },
  };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function untilReady(server: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    let output = "";
    server.stdout?.setEncoding("utf8");
    server.stdout?.on("data", (text: string) => {
      output += text;
      if (output.includes("Ready to accept connections")) resolve();
    });
    server.once("error", reject);
    server.once("exit", (code) => reject(new Error(`redis-server ended with ${code}: ${output}`)));
  });
}

async function stop(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = new Promise((resolve) => server.once("exit", resolve));
  server.kill("SIGTERM");
  await ended;
}
