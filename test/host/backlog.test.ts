import { describe, expect, test } from "vitest";
import { Backlog } from "../../src/host/backlog.ts";
import { BUFFERED_BYTES_MAX, ASKED_BUFFERED_BYTES_MAX } from "../../src/protocol/limits.ts";

describe("what waits for a peer that does not read", () => {
  test("is too much one byte past the limit", () => {
    const backlog = new Backlog();
    expect(backlog.isTooMuch(BUFFERED_BYTES_MAX)).toBe(false);
    expect(backlog.isTooMuch(BUFFERED_BYTES_MAX + 1)).toBe(true);
  });

  test("may be more by what it has asked for, until it has read them", () => {
    const backlog = new Backlog();
    backlog.asked(1000);
    expect(backlog.isTooMuch(BUFFERED_BYTES_MAX + 1000)).toBe(false);
    expect(backlog.isTooMuch(BUFFERED_BYTES_MAX + 1001)).toBe(true);
    expect(backlog.isTooMuch(BUFFERED_BYTES_MAX)).toBe(false);
    expect(backlog.isTooMuch(BUFFERED_BYTES_MAX + 1)).toBe(true);
  });

  test("has an end all the same, however much it asks for", () => {
    const backlog = new Backlog();
    for (let i = 0; i < 100; i++) backlog.asked(1024 * 1024);
    const max = BUFFERED_BYTES_MAX + ASKED_BUFFERED_BYTES_MAX;
    expect(backlog.isTooMuch(max)).toBe(false);
    expect(backlog.isTooMuch(max + 1)).toBe(true);
  });
});
