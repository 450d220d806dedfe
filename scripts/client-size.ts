// What a page pays for `import { connect } from "latchkey/client"`: bundled and minified in one file, gzipped. What is loaded when it
// is asked for (the first watch, the first look at a key, several locks at once, a grace, a spread space) is another file, and is told beside it.

import { gzipSync } from "node:zlib";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";

/** Room for little more than what there is: whatever makes it grow has to be worth it. */
const BYTES_MAX = 8_220;
const root = fileURLToPath(new URL("..", import.meta.url));
const client = join(root, "src/client");

const later = new Set<string>();
const apart: Plugin = {
  name: "what is loaded later is a file of its own",
  setup(builder) {
    builder.onResolve({ filter: /./ }, ({ kind, path, resolveDir }) => {
      if (kind !== "dynamic-import") return undefined;
      later.add(relative(client, join(resolveDir, path)));
      return { path, external: true };
    });
  },
};

const bytes = await size('export { connect } from "./src/client/index.ts"');
console.log(`latchkey/client: ${bytes} bytes gzipped, at most ${BYTES_MAX}`);
for (const path of [...later].toSorted()) {
  console.log(`${path}, when it is asked for: ${await size(`export * from "./src/client/${path}"`)}`);
}
if (bytes > BYTES_MAX) process.exit(1);

async function size(contents: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: root },
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    write: false,
    plugins: [apart],
  });
  return gzipSync(outputFiles[0]?.contents ?? "", { level: 9 }).length;
}
