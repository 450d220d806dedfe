import { describe, expect, test } from "vitest";
import { canonicalJson } from "../../src/client/fingerprint.ts";
import { fingerprintOf } from "../../src/client/idempotency.ts";

describe("a fingerprint", () => {
  test.each([
    ["the order of members", { a: 1, b: { c: 2, d: 3 } }, { b: { d: 3, c: 2 }, a: 1 }],
    ["members inside lists", [{ a: 1, b: 2 }], [{ b: 2, a: 1 }]],
    ["what JSON leaves out", { a: 1, b: undefined }, { a: 1 }],
    ["how a number is written", { a: 1e2 }, { a: 100 }],
    ["a date and its text", { at: new Date(0) }, { at: "1970-01-01T00:00:00.000Z" }],
    [
      "a class and its members",
      new (class {
        a = 1;
      })(),
      { a: 1 },
    ],
  ])("does not tell apart: %s", async (_what, one, other) => {
    expect(await fingerprintOf(one)).toBe(await fingerprintOf(other));
  });

  test.each([
    ["the order of a list", [1, 2], [2, 1]],
    ["a number and its text", { a: 1 }, { a: "1" }],
    ["null and nothing", { a: null }, {}],
    ["an empty list and an empty object", [], {}],
    ["a value and a list of it", "a", ["a"]],
    ["names of members", { "a,b": 1 }, { a: 1, b: 1 }],
    ["lone surrogates", "\ud800", "\ud801"],
    ["nesting", { a: { b: 1 } }, { a: 1, b: 1 }],
  ])("tells apart: %s", async (_what, one, other) => {
    expect(await fingerprintOf(one)).not.toBe(await fingerprintOf(other));
  });

  test("is short, and the same for ever", async () => {
    expect(await fingerprintOf({ b: [1, "1"], a: null })).toBe("mlQ3NXqEdjO_r2RyQjs0VMDTZTrMfu1AutWBEY-7n2A");
    expect((await fingerprintOf("x".repeat(1_000_000))).length).toBe(43);
  });

  test.each([undefined, () => 1, Symbol("a"), 1n])("is not made of what is no JSON: %s", async (value) => {
    await expect(fingerprintOf(value)).rejects.toBeInstanceOf(TypeError);
  });

  test("sorts names by their code units, also those that look like numbers", () => {
    expect(canonicalJson({ b: 1, 10: 1, 9: 1, é: 1, Z: 1 })).toBe('{"10":1,"9":1,"Z":1,"b":1,"é":1}');
  });
});
