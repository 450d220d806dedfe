/** The servers that the harness can start, by name. */

import { inRepository } from "./paths.ts";
import { PEER_SERVERS, type PeerKind } from "./peers.ts";
import { type BenchServer, startServer, temporaryFolder } from "./server.ts";
import { startFloorOnWorkerd } from "./workerd.ts";

/** What can run a program of ours, and so generate load. */
export const RUNTIMES = ["bun", "deno", "node"] as const;
export type RuntimeName = (typeof RUNTIMES)[number];

/** What can serve locks. */
export const HOSTS = [...RUNTIMES, "workerd"] as const;
export type HostName = (typeof HOSTS)[number];

export type ServerKind = `latchkey-${HostName}` | `floor-${HostName}` | `http-${RuntimeName}` | PeerKind;

/** Why a server of this kind cannot be started here; undefined if it can. */
export function whyMissing(kind: ServerKind): string | undefined {
  return isPeer(kind) ? PEER_SERVERS[kind].whyMissing() : undefined;
}

/** Whether it must be started anew for each scenario. */
export function isBrief(kind: ServerKind): boolean {
  return isPeer(kind) && PEER_SERVERS[kind].isBrief === true;
}

/** `settings`: for Latchkey, on top of the default ones. */
export function start(kind: ServerKind, settings: Readonly<Record<string, string>> = {}): Promise<BenchServer> {
  if (isPeer(kind)) return PEER_SERVERS[kind].start();
  const [role, host] = kind.split("-") as [Role, HostName];
  if (host === "workerd" && role === "floor") return startFloorOnWorkerd();
  return startServer({
    command: [...program(host === "workerd" ? "node" : host), inRepository(fileOf(role, host))],
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

/** `http`: the floor of calls over HTTP. */
type Role = "latchkey" | "floor" | "http";

function fileOf(role: Role, host: HostName): string {
  if (role === "floor") return `bench/servers/floor-${host}.ts`;
  if (role === "http") return `bench/servers/floor-http-${host}.ts`;
  // What `npm run start:workers` does: it starts workerd and sleeps beside it.
  return host === "workerd" ? "scripts/workers.ts" : `runtimes/${host}.ts`;
}

function isPeer(kind: ServerKind): kind is PeerKind {
  return kind in PEER_SERVERS;
}
