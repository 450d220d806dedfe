/** The package as its users get it: packed, unpacked into a project of its own, with its dependencies beside it. */

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Makes `folder` a project that has `latchkey` installed. */
export function installPackage(folder: string): void {
  if (!existsSync(join(ROOT, "dist"))) execFileSync("npm", ["run", "build"], { cwd: ROOT, stdio: "ignore" });
  execFileSync("npm", ["pack", "--ignore-scripts", "--pack-destination", folder], { cwd: ROOT, stdio: "ignore" });
  const archive = readdirSync(folder).find((name) => name.endsWith(".tgz"));
  if (archive === undefined) throw new Error("nothing was packed");
  const modules = join(folder, "node_modules");
  const target = join(modules, "latchkey");
  mkdirSync(target, { recursive: true });
  execFileSync("tar", ["-xzf", join(folder, archive), "-C", target, "--strip-components=1"]);
  for (const dependency of dependencies()) {
    const link = join(modules, dependency);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(ROOT, "node_modules", dependency), link);
  }
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module", dependencies: { latchkey: "*" } }));
}

function dependencies(): string[] {
  const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { dependencies: object };
  return Object.keys(manifest.dependencies);
}
