/**
 * Part of `npm run build`: gives the members that only the client itself uses short names. No bundler does that, since it cannot know who
 * else uses them, and they are a thirtieth of what a page loads. Everything else in these files stays readable.
 */

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { transform } from "esbuild";
import { OWN_MEMBERS } from "./own-members.ts";

/** Where objects with these members come: what is written there knows them, and nobody else. */
const FOLDERS = ["client", "claim-store", "element", "react"];

/** The letters that minifiers use most, so that all compresses together. Not `t` and `v`, which frames have. */
const LETTERS = "ernsiaolcudfmhpgbwykxjqz";

const dist = fileURLToPath(new URL("../dist/src/", import.meta.url));
const files = FOLDERS.flatMap((folder) =>
  readdirSync(join(dist, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.name.endsWith(".js"))
    .map((entry) => join(entry.parentPath, entry.name)),
);
const texts = new Map(files.map((file) => [file, readFileSync(file, "utf8")]));
const names = shortNames([...texts.values()].join("\n"));
const members = new RegExp(`^(${OWN_MEMBERS.join("|")})$`);
for (const [file, text] of texts) {
  const { code } = await transform(text, { target: "es2022", mangleProps: members, mangleCache: names });
  writeFileSync(file, code);
}

/** The most used get a single letter. */
function shortNames(text: string): Record<string, string> {
  const uses = new Map(OWN_MEMBERS.map((name) => [name, text.match(new RegExp(`\\b${name}\\b`, "g"))?.length ?? 0]));
  const ordered = OWN_MEMBERS.toSorted((a, b) => (uses.get(b) ?? 0) - (uses.get(a) ?? 0));
  const letters = Array.from(LETTERS + LETTERS.toUpperCase());
  return Object.fromEntries(ordered.map((name, at) => [name, letters[at] ?? `$${letters[at - letters.length]}`]));
}
