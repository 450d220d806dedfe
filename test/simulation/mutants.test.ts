import process from "node:process";
import { describe, expect, it } from "vitest";
import { judgeMutant, MUTANTS } from "./mutants/judge.ts";

/** All of them take minutes: by hand every fourth is planted, in CI and by `npm run simulate:mutants` all. */
const STRIDE = process.env["CI"] === undefined ? 4 : 1;

const planted = MUTANTS.filter((_mutant, index) => index % STRIDE === 0);

describe.concurrent("the simulation notices that", () => {
  it.each(planted.map((mutant) => [mutant.bug, mutant] as const))("%s", async (_bug, mutant) => {
    expect(await judgeMutant(mutant, "both")).toBeDefined();
  });
});
