import { readFileSync, symlinkSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { Child } from "../conformance/child.ts";
import { RUNTIMES } from "../conformance/runtimes.ts";
import { temporaryFolder } from "../conformance/server.ts";
import { hasRedisServer } from "../fleet/support/redis-server.ts";
import { startPlace } from "../fleet/support/places.ts";
import { installPackage } from "./package.ts";

const README = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
const [, code = ""] = /<!-- run: fleet -->\n```ts\n([\s\S]*?)\n```/.exec(README) ?? [];
const MODULES = new URL("../../node_modules", import.meta.url).pathname;

describe.skipIf(!hasRedisServer())("a program without a server", () => {
  test.each(RUNTIMES)("the example for edge functions runs as it stands on $name", async (runtime) => {
    await using place = await startPlace("over REST");
    using folder = temporaryFolder();
    installPackage(folder.path);
    mkdirSync(join(folder.path, "node_modules/@upstash"));
    for (const name of ["@upstash/redis", "uncrypto"]) {
      symlinkSync(join(MODULES, name), join(folder.path, "node_modules", name));
    }
    const file = join(folder.path, "edge.ts");
    writeFileSync(file, code);
    const { url, token } = place.redis as { url: string; token: string };
    const env = { UPSTASH_REDIS_REST_URL: url, UPSTASH_REDIS_REST_TOKEN: token };
    await using child = new Child([...runtime.command.slice(0, -1), file], env, folder.path);
    const { code: exit } = await child.ended;

    // Runtimes show an object on one line or on several.
    expect(child.output.trim().replaceAll(/\s+/g, " ")).toMatch(/^ours, fence \d+ \{ sent: true,? \}$/);
    expect(exit).toBe(0);
  });

  test("a server whose package for Redis is not installed says which one to install", async () => {
    using folder = temporaryFolder();
    installPackage(folder.path);
    const file = join(folder.path, "server.ts");
    const redis = [`"redis://127.0.0.1:1"`, `{ url: "http://127.0.0.1:1", token: "t" }`];
    writeFileSync(
      file,
      `import { serve } from "latchkey/node";
       for (const redis of [${redis.join(", ")}]) await serve({ port: 0, fleet: { redis } }).catch((e) => console.log(e.message));`,
    );
    const node = RUNTIMES.find(({ name }) => name === "node");
    await using child = new Child([...(node?.command.slice(0, -1) ?? []), file], {}, folder.path);
    await child.ended;

    expect(child.output.trim().split("\n")).toEqual([
      "a fleet over TCP needs the package redis: npm install redis",
      "a fleet on Upstash needs the package @upstash/redis: npm install @upstash/redis",
    ]);
  });
});
