// A vitest reporter that writes what the JSON reporter leaves out: why a test was skipped, and files that failed to load.
// It runs inside Bun and Deno too, where vitest itself runs there.

import { writeFileSync } from "node:fs";
import type { Reporter, TestModule, TestResult } from "vitest/node";

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: readonly string[];
}

export default class CountsReporter implements Reporter {
  readonly #path: string;

  constructor() {
    const path = process.env["COUNTS_FILE"];
    if (path === undefined) throw new Error("COUNTS_FILE must name the file to write");
    this.#path = path;
  }

  onTestRunEnd(modules: readonly TestModule[], unhandledErrors: readonly unknown[]): void {
    let passed = 0;
    let failed = unhandledErrors.length;
    const skipped: string[] = [];
    for (const module of modules) {
      failed += module.errors().length;
      for (const suite of module.children.allSuites()) failed += suite.errors().length;
      for (const test of module.children.allTests()) {
        const result = test.result();
        if (result.state === "passed") passed += 1;
        else if (result.state === "failed") failed += 1;
        else skipped.push(`${module.relativeModuleId} > ${test.fullName}${note(result)}`);
      }
    }
    writeFileSync(this.#path, JSON.stringify({ passed, failed, skipped } satisfies Counts));
  }
}

function note(result: TestResult): string {
  return result.state === "skipped" && result.note !== undefined ? ` (${result.note})` : "";
}
