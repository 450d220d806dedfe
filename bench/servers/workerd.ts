/** The floor on workerd: a Worker and a Durable Object, started from a configuration as scripts/workers.ts does it. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import workerd from "workerd";
import { inRepository } from "./paths.ts";
import { type BenchServer, freePort, startServer, temporaryFolder } from "./server.ts";

const COMPATIBILITY_DATE = "2026-11-01";

export async function startFloorOnWorkerd(): Promise<BenchServer> {
  const folder = temporaryFolder();
  const port = await freePort();
  await build({
    entryPoints: [inRepository("bench/servers/floor-workerd.ts")],
    outfile: join(folder, "floor.js"),
    bundle: true,
    format: "esm",
    target: "es2024",
    external: ["cloudflare:workers"],
    logLevel: "error",
  });
  writeFileSync(
    join(folder, "config.capnp"),
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [(name = "floor.js", esModule = embed "floor.js")],
  compatibilityDate = "${COMPATIBILITY_DATE}",
  durableObjectNamespaces = [(className = "Floor", uniqueKey = "floor")],
  durableObjectStorage = (inMemory = void),
  bindings = [(name = "FLOOR", durableObjectNamespace = "Floor")],
);
`,
  );
  return startServer({
    command: [workerd.default, "serve", join(folder, "config.capnp"), "--control-fd=1"],
    folder,
    ready: /"event":\s*"listen"/,
    url: `http://127.0.0.1:${port}`,
  });
}
