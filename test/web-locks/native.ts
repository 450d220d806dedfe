// The cases that any LockManager can be asked, put to the platform's own: prints which of them it fails, as JSON.

import { CASES, type Manager, runCase } from "./suite.ts";

const CASE_MS = 2_000;

const { locks } = navigator as unknown as { readonly locks: Manager };
const asked = CASES.filter(({ needs = [] }) => needs.length === 0);
const failed = await Promise.all(
  asked.map((one) =>
    runCase(one, { all: [locks, locks, locks] }, CASE_MS).then(
      () => [],
      (error: Error) => [[one.name, error.message]],
    ),
  ),
);
console.log(JSON.stringify({ asked: asked.length, failed: Object.fromEntries(failed.flat()) }));
// What a case that failed has left waiting must not keep the process.
process.exit(0);
