/** The servers that the harness can start, by name. */

import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type BenchServer, freePort, startServer, temporaryFolder, type User } from "./server.ts";

export const RUNTIMES = ["bun", "deno", "node"] as const;
export type RuntimeName = (typeof RUNTIMES)[number];

export type ServerKind =
  | `latchkey-${RuntimeName}`
  | `floor-${RuntimeName}`
  | `http-${RuntimeName}`
  | "redis"
  | "postgres";

/** Why a server of this kind cannot be started here; undefined if it can. */
export function whyMissing(kind: ServerKind): string | undefined {
  if (kind === "redis" && redisProgram() === undefined) return "no redis-server on this machine: npm run bench:setup";
  if (kind === "postgres" && postgresFolder() === undefined) return "no postgres on this machine: npm run bench:setup";
  if (kind === "postgres" && isRoot() && postgresUser() === undefined)
    return "postgres refuses to run as root, and there is no user postgres";
  return undefined;
}

/** `settings`: for Latchkey, on top of the default ones. */
export function start(kind: ServerKind, settings: Readonly<Record<string, string>> = {}): Promise<BenchServer> {
  if (kind === "redis") return startRedis();
  if (kind === "postgres") return startPostgres();
  const [role, runtime] = kind.split("-") as ["latchkey" | "floor" | "http", RuntimeName];
  const file = {
    latchkey: `runtimes/${runtime}.ts`,
    floor: `bench/servers/floor-${runtime}.ts`,
    http: `bench/servers/floor-http-${runtime}.ts`,
  }[role];
  return startServer({
    command: [...program(runtime), inRepository(file)],
    // The default: SQLite, as a user would run it.
    env: { HOST: "127.0.0.1", PORT: "0", ...settings },
    folder: temporaryFolder(),
    ready: /http:\/\/127\.0\.0\.1:\d+/,
  });
}

export function program(runtime: RuntimeName): readonly string[] {
  const binary = inRepository(`node_modules/.bin/${runtime}`);
  return runtime === "deno" ? [binary, "run", "-A", "--cached-only", "--no-remote"] : [binary];
}

export function inRepository(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}

async function startRedis(): Promise<BenchServer> {
  const port = await freePort();
  const settings = { bind: "127.0.0.1", port: `${port}`, save: "", appendonly: "no", maxclients: "10000" };
  return startServer({
    command: [redisProgram() ?? "", ...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])],
    folder: temporaryFolder(),
    ready: /Ready to accept connections/,
    url: `redis://127.0.0.1:${port}`,
  });
}

async function startPostgres(): Promise<BenchServer> {
  const port = await freePort();
  const user = isRoot() ? postgresUser() : undefined;
  const folder = temporaryFolder(user);
  const programs = postgresFolder() ?? "";
  const data = join(folder, "data");
  execFileSync(join(programs, "initdb"), ["-D", data, "-A", "trust", "-U", "bench"], {
    cwd: folder,
    stdio: "ignore",
    ...user,
  });
  const settings = { listen_addresses: "127.0.0.1", unix_socket_directories: folder, max_connections: "200" };
  return startServer({
    command: [
      join(programs, "postgres"),
      "-D",
      data,
      "-p",
      `${port}`,
      ...Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
    ],
    folder,
    ready: /ready to accept connections/,
    url: `postgres://bench@127.0.0.1:${port}/postgres`,
    user,
  });
}

function redisProgram(): string | undefined {
  return ["/usr/bin/redis-server", "/usr/local/bin/redis-server"].find((path) => existsSync(path));
}

function postgresFolder(): string | undefined {
  const root = "/usr/lib/postgresql";
  if (!existsSync(root)) return undefined;
  const folders = readdirSync(root).map((version) => join(root, version, "bin"));
  return folders.find((folder) => existsSync(join(folder, "postgres")));
}

function isRoot(): boolean {
  return process.getuid?.() === 0;
}

function postgresUser(): User | undefined {
  const line = readFileSync("/etc/passwd", "utf8")
    .split("\n")
    .find((candidate) => candidate.startsWith("postgres:"));
  const [, , uid, gid] = line?.split(":") ?? [];
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}
