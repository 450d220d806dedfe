import { expect, test } from "vitest";
import { readRecord, writeRecord } from "../../src/stores/record-rows.ts";
import { done, idle, running } from "./idempotency.ts";
import { TestClock } from "./records.ts";

const clock = new TestClock();
const RESULT = Uint8Array.from({ length: 11 }, (_, at) => 250 + at);
const DAMAGED = expect.objectContaining({ name: "StoreError", code: "damaged" });

function read(text: string, result?: Uint8Array): unknown {
  return readRecord("a", text, result, clock);
}

test.each([
  ["running", running("a")],
  ["idle", idle("a", 90_000)],
  ["done", done("a", 90_000, RESULT)],
])("a row of which any one character is another, missing or twice there cannot be read: %s", (_state, record) => {
  const text = writeRecord(record, clock);
  expect(read(text, record.result)).toMatchObject({ key: "a", state: record.state });
  for (let at = 0; at < text.length; at++) {
    const part = text[at]!;
    for (const other of ["", part + part, part === "1" ? "2" : "1", part === " " ? "\t" : " "]) {
      const damaged = text.slice(0, at) + other + text.slice(at + 1);
      // No JSON at all, or JSON that says something else.
      expect(() => read(damaged, record.result)).toThrow(/JSON|a field is missing/);
    }
  }
  expect(() => read(`${text} `, record.result)).toThrow(DAMAGED);
});

test("a result of which any one byte is another, or that ends early or late, cannot be read", () => {
  const text = writeRecord(done("a", 90_000, RESULT), clock);
  for (let at = 0; at < RESULT.length; at++) {
    const other = RESULT.slice();
    other[at] = 7;
    expect(() => read(text, other)).toThrow(DAMAGED);
    expect(() => read(text, RESULT.slice(0, at))).toThrow(DAMAGED);
  }
  expect(() => read(text, Uint8Array.of(...RESULT, 0))).toThrow(DAMAGED);
  expect(() => read(text)).toThrow(DAMAGED);
  const one = writeRecord(done("a", 90_000, Uint8Array.of(7)), clock);
  expect(() => read(one, Uint8Array.of(0, 0, 0, 7))).toThrow(DAMAGED);
});

test("an empty result and a part of a larger buffer are results", () => {
  for (const result of [new Uint8Array(), RESULT.subarray(3, 8)]) {
    const text = writeRecord(done("a", 90_000, result), clock);
    expect(read(text, result.slice())).toMatchObject({ result });
    expect(() => read(text, Uint8Array.of(...result, 0, 0, 0, 0))).toThrow(DAMAGED);
  }
});
