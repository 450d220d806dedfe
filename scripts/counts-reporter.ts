// A vitest reporter that writes what the JSON reporter leaves out: why a test was skipped, and files that failed to load.
// What failed is named in a line each, so that it is known where only the end of a long output is kept.
// It runs inside Bun and Deno too, where vitest itself runs there.

import { writeFileSync } from "node:fs";
import type { Reporter, TestModule, TestResult } from "vitest/node";

export interface Counts {
  readonly passed: number;
  /** A line each: where, and the first line of its error. */
  readonly failed: readonly string[];
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
    const failed = unhandledErrors.map((error) => `outside of tests: ${firstLine([error])}`);
    const skipped: string[] = [];
    for (const module of modules) {
      const name = module.relativeModuleId;
      failed.push(...module.errors().map((error) => `${name}: ${firstLine([error])}`));
      for (const suite of module.children.allSuites()) {
        failed.push(...suite.errors().map((error) => `${name} > ${suite.fullName}: ${firstLine([error])}`));
      }
      for (const test of module.children.allTests()) {
        const result = test.result();
        if (result.state === "passed") passed += 1;
        else if (result.state === "failed") failed.push(`${name} > ${test.fullName}: ${firstLine(result.errors)}`);
        else skipped.push(`${name} > ${test.fullName}${note(result)}`);
      }
    }
    writeFileSync(this.#path, JSON.stringify({ passed, failed, skipped } satisfies Counts));
  }
}

/** Of the last one, where a test was tried several times. */
function firstLine(errors: readonly unknown[]): string {
  const error = errors.at(-1);
  const message = typeof error === "object" && error !== null && "message" in error ? error.message : error;
  return String(message).trim().split("\n", 1)[0] ?? "";
}

function note(result: TestResult): string {
  return result.state === "skipped" && result.note !== undefined ? ` (${result.note})` : "";
}
