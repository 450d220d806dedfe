// Holds the arrows between the layers: core <- protocol <- host <- stores, fleet, runtimes; protocol <- client <- hono.
// A type may cross where a value may not, since it is erased; a browser bundle of the client must not carry a server.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseSync } from "oxc-parser";

interface Import {
  readonly target: string;
  readonly erased: boolean;
  readonly line: number;
}

/** What a layer may import, besides itself: prefixes of our own paths, and packages by name (`*` at the end: any). */
interface Layer {
  readonly values: readonly string[];
  readonly types?: readonly string[];
  readonly packages?: readonly string[];
}

const LAYERS: Readonly<Record<string, Layer>> = {
  "src/core": { values: [] },
  "src/protocol": { values: ["src/core"], packages: ["valibot"] },
  "src/host": { values: ["src/core", "src/protocol"], packages: ["hono", "valibot"] },
  "src/stores": {
    values: ["src/core"],
    types: ["src/host/ports.ts"],
    packages: ["bun:sqlite", "node:sqlite", "node:fs"],
  },
  "src/fleet": {
    values: ["src/core", "src/protocol"],
    types: ["src/host", "src/options.ts"],
    packages: ["redis", "@upstash/redis"],
  },
  "src/client": { values: ["src/protocol"] },
  "src/claim-store": { values: ["src/client"] },
  "src/react": { values: ["src/claim-store", "src/client"], packages: ["react"] },
  "src/element": { values: ["src/claim-store", "src/client"] },
  "src/hono": { values: ["src/client", "src/protocol"], packages: ["hono"] },
  // DEMO.href: an example, which is there in the repository only.
  "src/cli": { values: ["src"], packages: ["node:*", "DEMO.href"] },
  "src/workers": { values: ["src"], packages: ["cloudflare:workers"] },
  src: { values: ["src"] },
  runtimes: {
    values: ["src"],
    packages: ["node:*", "bun", "bun:*", "cloudflare:workers", "hono", "@hono/node-server", "ws"],
  },
};

/** The client's whole value graph stays inside these: no package, no validator, no engine. */
const CLIENT_GRAPH = ["src/client", "src/protocol"];

const root = fileURLToPath(new URL("..", import.meta.url));
const files = ["src", "runtimes"].flatMap(sources);
const imports = new Map(files.map((file) => [file, importsOf(file)]));
const problems = [
  ...files.flatMap(checkArrows),
  ...files.filter((file) => within(file, "src/client")).flatMap(checkClient),
];

if (files.length === 0) problems.push("src: no source files found");
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exit(1);
console.log(`${files.length} files keep to their layers`);

function checkArrows(file: string): string[] {
  const name = layerOf(file);
  const layer = LAYERS[name];
  if (layer === undefined) return [`${file}: the layer ${name} has no rule in scripts/check-layers.ts`];
  return (imports.get(file) ?? []).flatMap(({ target, erased, line }) => {
    if (isOurs(target)) {
      const allowed = [name, ...layer.values, ...(erased ? (layer.types ?? []) : [])];
      if (allowed.some((path) => within(target, path))) return [];
    } else if (layer.packages?.some((pattern) => isPackage(target, pattern))) {
      return [];
    }
    return [`${file}:${line}: ${name} may not import ${erased ? "types from " : ""}${target}`];
  });
}

/** Follows what is really loaded from one client file, and tells the way by which it leaves the client's graph. */
function checkClient(start: string): string[] {
  const ways: string[][] = [[start]];
  const seen = new Set([start]);
  for (let way = ways.pop(); way !== undefined; way = ways.pop()) {
    for (const { target, erased } of imports.get(way.at(-1) ?? start) ?? []) {
      if (erased || seen.has(target)) continue;
      seen.add(target);
      if (!CLIENT_GRAPH.some((path) => within(target, path))) {
        return [`${start}: loads ${target} by way of ${[...way, target].join(" -> ")}`];
      }
      ways.push([...way, target]);
    }
  }
  return [];
}

function importsOf(file: string): Import[] {
  const text = readFileSync(join(root, file), "utf8");
  const { module, errors } = parseSync(file, text);
  if (errors.length > 0) throw new Error(`${file}: ${errors[0]?.message}`);
  const found = [
    ...module.staticImports.map(({ start, moduleRequest }) => ({ start, specifier: moduleRequest.value })),
    ...module.staticExports.flatMap(({ start, entries }) =>
      entries
        .slice(0, 1)
        .flatMap(({ moduleRequest }) => (moduleRequest ? { start, specifier: moduleRequest.value } : [])),
    ),
    ...module.dynamicImports.map(({ start, moduleRequest }) => ({
      start,
      specifier: text.slice(moduleRequest.start, moduleRequest.end).replaceAll(/^["'`]|["'`]$/g, ""),
    })),
  ];
  return found.map(({ start, specifier }) => ({
    target: specifier.startsWith(".") ? relative(root, resolve(root, dirname(file), specifier)) : specifier,
    erased: /^(?:import|export)\s+type\b/.test(text.slice(start, start + 20)),
    line: text.slice(0, start).split("\n").length,
  }));
}

function sources(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .toSorted();
}

/** `src/core/a.ts` is in `src/core`; `src/index.ts`, which only gathers exports, is in `src`. */
function layerOf(file: string): string {
  const [top = "", second = "", third] = file.split("/");
  return top === "src" && third !== undefined ? `${top}/${second}` : top;
}

function isOurs(target: string): boolean {
  return within(target, "src") || within(target, "runtimes");
}

function within(file: string, path: string): boolean {
  return file === path || file.startsWith(`${path}/`);
}

function isPackage(target: string, pattern: string): boolean {
  return pattern.endsWith("*") ? target.startsWith(pattern.slice(0, -1)) : within(target, pattern);
}
