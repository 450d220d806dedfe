import { defineConfig } from "vitest/config";
import { TEST_FOLDERS, type TestKind } from "./scripts/test-folders.ts";

// One project a kind of test. `unit` also runs inside Bun and inside Deno, so nothing in it may need Node itself.
export default defineConfig({
  test: {
    projects: [
      project("unit", 5_000),
      project("simulation", 180_000),
      project("conformance", 30_000),
      project("processes", 120_000),
      project("fleet", 300_000),
      project("fleet-servers", 60_000),
      project("browser", 60_000),
      project("docs", 30_000),
      project("workers", 60_000, "test/workers/*.test.ts"),
    ],
  },
});

function project(name: TestKind, testTimeout: number, ...only: string[]) {
  const include = only.length > 0 ? only : TEST_FOLDERS[name].map((folder) => `test/${folder}/**/*.test.ts`);
  return { test: { name, include, testTimeout, hookTimeout: 30_000 } };
}
