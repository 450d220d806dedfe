import { describe, expect, test } from "vitest";
import { isKey, isSpace, utf8Bytes } from "../../src/protocol/names.ts";

describe("the bytes of a text", () => {
  test.each(["", "abc", "é", "日本", "😀", "a\0b", "\u07ff\u0800", "\uffff", "😀é日a".repeat(50)])(
    "are counted as an encoder counts them: %j",
    (text) => {
      expect(utf8Bytes(text)).toBe(new TextEncoder().encode(text).length);
    },
  );

  test("are three for each lone surrogate, wherever it stands", () => {
    expect(utf8Bytes("\ud800")).toBe(3);
    expect(utf8Bytes("\udc00")).toBe(3);
    expect(utf8Bytes("\ud800\ud800\udc00")).toBe(7);
    expect(utf8Bytes("\udc00\ud800")).toBe(6);
    expect(utf8Bytes("a\ud800b")).toBe(5);
  });

  test("past a maximum are only said to be more", () => {
    expect(utf8Bytes("x".repeat(1000), 10)).toBeGreaterThan(10);
    expect(utf8Bytes("日".repeat(10), 29)).toBe(30);
  });
});

describe("names", () => {
  test.each([
    ["", true],
    ["k".repeat(255), true],
    ["k".repeat(256), false],
    ["日".repeat(85), true],
    ["日".repeat(86), false],
    ["\ud800", true],
    ["__proto__", true],
  ])("a key has at most 255 bytes, and is any text: %j", (key, is) => {
    expect(isKey(key)).toBe(is);
  });

  test.each([
    ["default", true],
    ["A-z_0.9", true],
    [".", true],
    ["s".repeat(64), true],
    ["s".repeat(65), false],
    ["", false],
    ["a b", false],
    ["a/b", false],
    ["ä", false],
    ["a\n", false],
  ])("a space has 1 to 64 plain characters: %j", (space, is) => {
    expect(isSpace(space)).toBe(is);
  });
});
