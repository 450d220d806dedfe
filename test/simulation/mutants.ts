/**
 * `npm run simulate:mutants`: plants one bug after the other in a copy of the core and runs the simulation there. A simulation
 * that does not notice a bug does not test what it claims. With `-- --audit` it is also told whether the auditor alone, without
 * the model, would have noticed.
 */

import process from "node:process";
import { checkMutant, judgeMutant, MUTANTS } from "./mutants/judge.ts";

const LANES = 2;

await main(process.argv.includes("--audit"));

async function main(isAudited: boolean): Promise<void> {
  for (const mutant of MUTANTS) checkMutant(mutant);
  // A core that fails by itself would seem to give every mutant away.
  const unchanged = await judgeMutant(undefined, "both");
  if (unchanged !== undefined) throw new Error(`the core fails without a bug being planted: ${unchanged}`);
  const waiting = MUTANTS.values();
  const survivors: string[] = [];
  let caughtByAudit = 0;
  const lane = async (): Promise<void> => {
    for (const mutant of waiting) {
      const verdict = await judgeMutant(mutant, "both");
      const audit = isAudited ? await judgeMutant(mutant, "auditor") : undefined;
      if (verdict === undefined) survivors.push(mutant.bug);
      if (audit !== undefined) caughtByAudit++;
      console.log(`${verdict === undefined ? "SURVIVED" : "caught  "} ${mutant.bug}`);
      console.log(`           ${verdict ?? "noticed nothing"}`);
      if (isAudited) console.log(`           auditor alone: ${audit ?? "noticed nothing"}`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  const alone = isAudited ? `, ${caughtByAudit} of them by the auditor alone` : "";
  console.log(`${MUTANTS.length - survivors.length} of ${MUTANTS.length} caught${alone}`);
  if (survivors.length > 0) process.exitCode = 1;
}
