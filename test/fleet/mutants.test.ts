import process from "node:process";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Judge, LUA_MUTANTS, scriptWith } from "./mutants/judge.ts";
import { hasRedisServer, type RedisServer, startRedisServer } from "./support/redis-server.ts";

/** By hand every fourth is planted, in CI and by `npm run fleet:mutants` all. */
const STRIDE = process.env["CI"] === undefined ? 4 : 1;

const planted = LUA_MUTANTS.filter((_mutant, index) => index % STRIDE === 0);

describe.skipIf(!hasRedisServer())("the stories of the engine show that", () => {
  let server: RedisServer | undefined;
  let judge: Judge;

  beforeAll(async () => {
    server = await startRedisServer();
    judge = new Judge(server.url);
  });
  afterAll(() => server?.stop());

  it.each(planted.map((mutant) => [mutant.bug, mutant] as const))("%s", async (_bug, mutant) => {
    expect(await judge.judge(mutant)).toBeDefined();
  });

  it("each bug can still be planted", () => {
    for (const mutant of LUA_MUTANTS) scriptWith(mutant);
  });
});
