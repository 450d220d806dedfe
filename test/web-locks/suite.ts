/**
 * What the Web Locks standard asks of a LockManager, rule by rule, in our own words. `runCase` of `trial.ts` runs one against any
 * three managers of one space.
 */

import { argumentCases } from "./arguments.ts";
import { availableCases } from "./available.ts";
import { callbackCases } from "./callbacks.ts";
import { endCases } from "./ends.ts";
import { modeCases } from "./modes.ts";
import { nameCases } from "./names.ts";
import { signalCases } from "./signals.ts";
import { snapshotCases } from "./snapshots.ts";
import { stealCases } from "./steals.ts";
import type { Case } from "./trial.ts";

export { type Case, type Manager, type Managers, runCase } from "./trial.ts";

export const CASES: readonly Case[] = [
  ...argumentCases,
  ...callbackCases,
  ...modeCases,
  ...availableCases,
  ...stealCases,
  ...signalCases,
  ...snapshotCases,
  ...nameCases,
  ...endCases,
];
