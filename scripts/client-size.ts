// What a page pays for `import { connect } from "latchkey/client"`: what the package has of it, bundled and minified in one file, gzipped. What is
// loaded when it is asked for (the first watch, the first look at a key, several locks at once, a grace, a spread space) is another file,
// and is told beside it: what it has besides. It reads `dist`, which `npm run build` makes.

import { join, relative } from "node:path";
import { gzipSync } from "node:zlib";
import { fileURLToPath } from "node:url";
import { build, type Plugin } from "esbuild";

const BYTES_MAX = 7 * 1_024;
const root = fileURLToPath(new URL("..", import.meta.url));

/** What the page has, and what it gets later. */
const had = new Set<string>();
const later = new Set<string>();

const apart: Plugin = {
  name: "what is loaded later is a file of its own",
  setup(builder) {
    builder.onResolve({ filter: /^\./ }, ({ kind, path, resolveDir }) => {
      const file = relative(root, join(resolveDir, path));
      if (kind === "dynamic-import") later.add(file);
      return kind === "dynamic-import" || had.has(file) ? { path, external: true } : undefined;
    });
  },
};

const bytes = await size('export { connect } from "./dist/src/client/index.js"', had);
console.log(`latchkey/client: ${bytes} bytes gzipped, at most ${BYTES_MAX}`);
for (const file of [...later].toSorted()) {
  console.log(`${file}, when it is asked for: ${await size(`export * from "./${file}"`, new Set())}`);
}
if (bytes > BYTES_MAX) process.exit(1);

/** `files` gets what it is made of. */
async function size(contents: string, files: Set<string>): Promise<number> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    stdin: { contents, resolveDir: root },
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    write: false,
    metafile: true,
    plugins: [apart],
  });
  for (const file of Object.keys(metafile.inputs)) files.add(file);
  return gzipSync(outputFiles[0]?.contents ?? "", { level: 9 }).length;
}
