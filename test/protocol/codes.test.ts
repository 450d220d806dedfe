import { describe, expect, test } from "vitest";
import { CLOSE, FATAL_CLOSE_CODES } from "../../src/protocol/close.ts";
import { PROBLEMS, problemType } from "../../src/protocol/problems.ts";

describe("codes", () => {
  test("of closes are ones that every runtime may send", () => {
    for (const code of Object.values(CLOSE)) {
      expect([1000, 1001, 1012, 1013].includes(code) || (code >= 4000 && code <= 4999)).toBe(true);
    }
    expect(new Set(Object.values(CLOSE)).size).toBe(Object.values(CLOSE).length);
  });

  test("after which a client stays away are those that would come again", () => {
    expect(FATAL_CLOSE_CODES).toEqual(new Set([1009, 4400, 4401, 4403, 4409, 4413, 4426]));
  });

  test("of problems have a status of an error and a name that is a plain word", () => {
    for (const [code, { status, title }] of Object.entries(PROBLEMS)) {
      expect(code).toMatch(/^[a-z_]+$/);
      expect(status).toBeGreaterThanOrEqual(400);
      expect(title.length).toBeGreaterThan(0);
    }
    expect(problemType("lost")).toBe("urn:latchkey:problem:lost");
  });

  test("that say come again are those of statuses that may change by themselves", () => {
    for (const { status, retryable } of Object.values(PROBLEMS)) {
      if (status >= 500 || status === 429 || status === 408) expect(retryable).toBe(true);
      if ([400, 401, 403, 404, 405, 410, 413, 422, 426].includes(status)) expect(retryable).toBe(false);
    }
  });
});
