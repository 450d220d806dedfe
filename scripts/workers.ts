// Latchkey on workerd, the runtime of Cloudflare Workers, on this machine and without a network: `npm run start:workers`.
// The same variables as on the other runtimes. `npx wrangler dev` does it too, behind a proxy that makes it slower.

import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Readable } from "node:stream";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import workerd from "workerd";
import { parseSettings, type Settings } from "../src/cli/settings.ts";

const COMPATIBILITY_DATE = "2026-11-01";
/** What a Worker may be told by variables; the rest of the environment is none of its business. */
const VARIABLE = /^(?:LATCHKEY|LOCK)_[A-Z_]+$/;
/** For the last frames and answers to leave. */
const FAREWELL_MS = 200;

/** Ends workerd with this process, also when this one is killed: a pipe that nobody writes to ends with it. */
const LEASH = `exec 4<&0; "$@" 4<&- & pid=$!; (cat <&4 >/dev/null; kill -9 $pid 2>/dev/null) & wait $pid`;

const parsed = parseSettings(process.env);
if (parsed.ok) await start(parsed.settings);
else fail(...parsed.errors);

async function start({ hostname, port, db = "latchkey" }: Settings): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "latchkey-workers-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  const storage = resolve(`${db}.workers`);
  if (!existsSync(storage)) mkdirSync(storage, { recursive: true, mode: 0o700 });
  await bundle(folder);
  writeFileSync(join(folder, "config.capnp"), configOf(folder, storage, hostname, port));

  const command = [workerd.default, "serve", "config.capnp", "--control-fd=3"];
  const child = spawn("sh", ["-c", LEASH, "sh", ...command], {
    cwd: folder,
    stdio: ["pipe", "inherit", "pipe", "pipe"],
  });
  let complaints = "";
  child.stderr?.on("data", (text: Buffer) => {
    complaints += text.toString();
    if (isListening) process.stderr.write(text);
  });
  let isListening = false;
  let isEnding = false;
  child.once("exit", (code) => {
    if (isEnding) process.exit(0);
    fail(
      /EADDRINUSE|[Aa]ddress already in use/.test(complaints)
        ? `${hostname}:${port} is in use by another program: choose another PORT`
        : `workerd ended with ${code}: ${complaints.trim().split("\n").at(-1) ?? ""}`,
    );
    process.exit(1);
  });
  createInterface({ input: child.stdio[3] as Readable }).on("line", (line) => {
    const told = JSON.parse(line) as { readonly event: string; readonly socket?: string; readonly port?: number };
    if (told.event !== "listen" || told.socket !== "http") return;
    isListening = true;
    const host = hostname.includes(":") ? `[${hostname.replaceAll(/[[\]]/g, "")}]` : hostname;
    console.log(`Latchkey listens on http://${host}:${told.port}, on workerd; locks are kept in ${storage}`);
  });
  const end = (): void => {
    if (isEnding) process.exit(1);
    isEnding = true;
    drain(folder, () => setTimeout(() => child.stdin?.end(), FAREWELL_MS));
  };
  process.on("SIGTERM", end);
  process.on("SIGINT", end);
}

async function bundle(folder: string): Promise<void> {
  await build({
    entryPoints: [fileURLToPath(new URL("../runtimes/workers.ts", import.meta.url))],
    outfile: join(folder, "latchkey.js"),
    bundle: true,
    format: "esm",
    target: "es2024",
    external: ["cloudflare:workers"],
    logLevel: "error",
  });
  // Production has no signals; here one drains the space that everybody uses.
  const drainer = `import { latchkey } from "latchkey.js";
export default { fetch: (_, env) => latchkey(env).drain().then(() => new Response()) };`;
  writeFileSync(join(folder, "drain.js"), drainer);
}

function drain(folder: string, done: () => void): void {
  const asked = request({ socketPath: join(folder, "drain.sock"), path: "/" }, (answer) => {
    answer.resume().once("end", done);
  });
  asked.once("error", done).end();
}

function configOf(folder: string, storage: string, hostname: string, port: number): string {
  const variables = Object.entries(process.env).filter(([name, value]) => VARIABLE.test(name) && value !== "");
  const texts = variables.map(([name, value]) => `(name = ${quote(name)}, text = ${quote(value ?? "")})`);
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main), (name = "drain", worker = .drain), (name = "disk", disk = (path = ${quote(storage)}, writable = true))],
  sockets = [
    (name = "http", address = ${quote(`${hostname}:${port}`)}, http = (), service = "main"),
    (name = "drain", address = ${quote(`unix:${join(folder, "drain.sock")}`)}, http = (), service = "drain"),
  ],
);
const main :Workerd.Worker = (
  modules = [(name = "latchkey.js", esModule = embed "latchkey.js")],
  compatibilityDate = "${COMPATIBILITY_DATE}",
  durableObjectNamespaces = [(className = "LockSpace", uniqueKey = "latchkey", enableSql = true)],
  durableObjectStorage = (localDisk = "disk"),
  bindings = [${[`(name = "LOCKS", durableObjectNamespace = "LockSpace")`, ...texts].join(", ")}],
);
const drain :Workerd.Worker = (
  modules = [
    (name = "drain.js", esModule = embed "drain.js"),
    (name = "latchkey.js", esModule = embed "latchkey.js"),
  ],
  compatibilityDate = "${COMPATIBILITY_DATE}",
  bindings = [${[`(name = "LOCKS", durableObjectNamespace = (className = "LockSpace", serviceName = "main"))`, ...texts].join(", ")}],
);
`;
}

/** As the config language wants it; JSON's \\u escapes are not among its own, so other characters stay as they are. */
function quote(text: string): string {
  return `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}

function fail(...lines: readonly string[]): void {
  for (const line of lines) console.error(`latchkey: ${line}`);
  process.exitCode = 1;
}
