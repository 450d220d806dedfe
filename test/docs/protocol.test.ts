import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { drawLifecycle } from "../../src/core/index.ts";
import { CLOSE } from "../../src/protocol/close.ts";
import { PROBLEMS } from "../../src/protocol/problems.ts";

const PROTOCOL = readFileSync(new URL("../../PROTOCOL.md", import.meta.url), "utf8");

test("the diagram of a claim's life is drawn from the table that the engine runs on", () => {
  expect(PROTOCOL).toContain("```mermaid\n" + drawLifecycle() + "\n```");
});

test("every problem code is described, with its status", () => {
  const rows = PROTOCOL.split("\n").filter((line) => line.startsWith("| `"));
  for (const [code, { status }] of Object.entries(PROBLEMS)) {
    const row = rows.find((line) => line.split("|")[1]?.includes(`\`${code}\``) && /\| \d{3}/.test(line));
    expect(row, `a row for ${code}`).toBeDefined();
    expect(row).toContain(String(status));
  }
});

test("every close code is described", () => {
  for (const code of Object.values(CLOSE)) expect(PROTOCOL).toMatch(new RegExp(`^\\| [^|]*\\b${code}\\b[^|]*\\|`, "m"));
});
