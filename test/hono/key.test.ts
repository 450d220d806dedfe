import { describe, expect, test } from "vitest";
import { readHeaderKey, recordKey } from "../../src/hono/key.ts";
import { isKey } from "../../src/protocol/names.ts";

describe("the header", () => {
  test.each([
    ["abc", "abc"],
    ['"abc"', "abc"],
    ['  "abc" ', "abc"],
    [String.raw`"say \"hi\" \\ "`, String.raw`say "hi" \ `],
    ['"with a blank"', "with a blank"],
    ["a,b;c=d", "a,b;c=d"],
    ["x".repeat(255), "x".repeat(255)],
    [`"${"x".repeat(255)}"`, "x".repeat(255)],
  ])("a key is a quoted string or bare text: %s", (header, key) => {
    expect(readHeaderKey(header)).toBe(key);
  });

  test.each([
    "",
    "  ",
    '""',
    '"abc',
    'abc"def ghi',
    '"abc"def',
    '"abc";a=1',
    '"a", "b"',
    "a, b",
    "with a blank",
    String.raw`"\a"`,
    "ä",
    '"ä"',
    "a\tb",
    "x".repeat(256),
    `"${"x".repeat(256)}"`,
  ])("anything else is none: %j", (header) => {
    expect(readHeaderKey(header)).toBeUndefined();
  });
});

describe("the record's key", () => {
  test("can be read, and tells callers apart whatever they are called", async () => {
    expect(await recordKey("http/", "ada", "k1")).toBe('http/["ada","k1"]');
    const pairs = [
      ["a", 'b","c'],
      ['a","b', "c"],
      ["", "abc"],
      ["abc", ""],
      ["\ud800", "k"],
      ["\ud801", "k"],
      ["�", "k"],
    ] as const;
    const keys = await Promise.all(pairs.map(([principal, key]) => recordKey("http/", principal, key)));
    expect(new Set(keys).size).toBe(pairs.length);
  });

  test("is never longer than a key may be, and long ones differ too", async () => {
    const fits = 255 - 'http/["",""]'.length;
    expect(await recordKey("http/", "", "x".repeat(fits))).toBe(`http/["","${"x".repeat(fits)}"]`);
    const long = await recordKey("http/", "p", "x".repeat(fits));
    expect(long).toMatch(/^http\/sha256-[\da-f]{64}$/);
    expect(isKey(long)).toBe(true);
    expect(await recordKey("http/", "q", "x".repeat(fits))).not.toBe(long);
  });
});
