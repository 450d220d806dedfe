import { describe, expect, it } from "vitest";
import { judgeMutant, MUTANTS } from "./mutants/judge.ts";

describe.concurrent("the simulation notices that", () => {
  it.each(MUTANTS.map((mutant) => [mutant.bug, mutant] as const))("%s", async (_bug, mutant) => {
    expect(await judgeMutant(mutant, "both")).toBeDefined();
  });
});
