/** Starts a server from the environment: the same lines and signals on every runtime. */

import process from "node:process";
import type { Pages } from "../host/settings.ts";
import type { RunningServer, ServeOptions } from "../options.ts";
import { DEMO_PATH, openDemo } from "./demo.ts";
import { placeOf } from "./fleet-settings.ts";
import { parseSettings, type Settings } from "./settings.ts";

/** A process manager that waits 5 s before it kills must find the process gone. */
const DRAIN_MAX_MS = 4_500;

export async function startFromEnvironment(serve: (options: ServeOptions) => Promise<RunningServer>): Promise<void> {
  const parsed = parseSettings(process.env);
  if (!parsed.ok) {
    fail(...parsed.errors);
    return;
  }
  const { settings, color } = parsed;
  let server: RunningServer;
  let demo: Pages | undefined;
  try {
    const { demo: wantsDemo, ...options } = settings;
    demo = wantsDemo ? await openDemo() : undefined;
    server = await serve({ ...options, pages: demo });
  } catch (error) {
    fail(explain(error, settings));
    return;
  }
  onSignal(server);
  console.log(greeting(server.url, settings, demo !== undefined, color && process.stdout.isTTY));
}

function fail(...lines: readonly string[]): void {
  for (const line of lines) console.error(`latchkey: ${line}`);
  process.exitCode = 1;
}

/** The first signal drains, the second ends at once. */
function onSignal(server: RunningServer): void {
  let isEnding = false;
  const end = (): void => {
    if (isEnding) process.exit(1);
    isEnding = true;
    setTimeout(() => process.exit(0), DRAIN_MAX_MS);
    server.close().then(
      () => process.exit(0),
      (error: unknown) => {
        console.error("latchkey: error while shutting down:", error);
        process.exit(1);
      },
    );
  };
  process.on("SIGTERM", end);
  process.on("SIGINT", end);
}

/** What usually keeps a server from starting, as one line. */
function explain(error: unknown, { hostname, port, fleet }: Settings): string {
  const { code, name, message } = error as { code?: unknown; name?: unknown; message?: unknown };
  const address = `${hostname}:${port}`;
  if (code === "EADDRINUSE" || name === "AddrInUse")
    return `${address} is in use by another program: choose another PORT`;
  if (code === "EACCES" || name === "PermissionDenied") return `${address} may not be opened: choose a PORT above 1023`;
  if (code === "EADDRNOTAVAIL" || name === "AddrNotAvailable") return `${hostname} is no address of this machine`;
  if (name === "FleetError" && fleet !== undefined) return `the Redis at ${placeOf(fleet)}: ${String(message)}`;
  return String(message ?? error);
}

function greeting(url: string, { db, idempotencyDb, keys, fleet }: Settings, hasDemo: boolean, color: boolean): string {
  const authorization = keys.length > 0 ? ` -H "Authorization: Bearer $LATCHKEY_KEY"` : "";
  const latch = `${url}/v1/latch/demo`;
  return [
    `Latchkey listens on ${color ? `\u001b[1m${url}\u001b[0m` : url}`,
    fleet !== undefined
      ? `Locks are kept in the Redis at ${placeOf(fleet)}, and shared with all servers that use it.`
      : db === undefined
        ? "Locks are kept in memory only: they end with this process."
        : `Locks that outlive their connection are kept in ${db}.`,
    ...(fleet !== undefined || idempotencyDb === (db ?? null)
      ? []
      : [`Idempotency records are kept in ${idempotencyDb ?? "memory only"}.`]),
    "",
    `  curl${authorization} ${latch}/acquire -d '{"ttl":30000}'`,
    `  curl${authorization} ${latch}/release -d '{"token":"…"}'`,
    `  curl${authorization} ${latch}`,
    ...(hasDemo ? ["", `Two people share a form: ${url}${DEMO_PATH}`] : []),
    "",
  ].join("\n");
}
