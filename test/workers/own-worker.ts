/** A Worker of a test's own on workerd, with a configuration of its own: nothing stands between it and its callers. */

import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { Child } from "../conformance/child.ts";

const { default: WORKERD } = createRequire(import.meta.url)("workerd") as { readonly default: string };

export interface OwnWorker {
  readonly child: Child;
  readonly port: number;
}

/** Puts it into the folder as `worker.js`. `config`: of workerd, with a socket `http`. */
export async function bundleWorker(source: URL, folder: string, config: string): Promise<void> {
  await build({
    entryPoints: [fileURLToPath(source)],
    outfile: join(folder, "worker.js"),
    bundle: true,
    format: "esm",
    target: "es2024",
    external: ["cloudflare:workers"],
    logLevel: "error",
  });
  writeFileSync(join(folder, "config.capnp"), config);
}

export async function startWorker(folder: string): Promise<OwnWorker> {
  const child = new Child([WORKERD, "serve", "config.capnp", "--control-fd=1"], {}, folder);
  const listening = await child.printed(/"socket":"http","port":\d+/);
  return { child, port: Number(listening.split(":").at(-1)) };
}
