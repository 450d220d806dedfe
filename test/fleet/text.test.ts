import { describe, expect, it } from "vitest";
import { decodeText, encodeText } from "../../src/fleet/text.ts";

const UNITS = [
  "",
  "a",
  "\u007f",
  "\u00ff",
  "\u0800",
  "\ud7fe",
  "\ud7ff",
  "\ud800",
  "\udbff",
  "\udc00",
  "\udfff",
  "\ue000",
];
const TEXTS = [...UNITS, "\uffff", "\u{10000}", "\u{10ffff}", "\ud7ff\u0100", "~"].flatMap((text) =>
  UNITS.map((more) => text + more),
);

describe("text on its way to Redis", () => {
  it("arrives as it was, in bytes that different texts do not share", () => {
    const bytes = new Set(TEXTS.map((text) => Buffer.from(encodeText(text)).toString("hex")));
    expect(bytes.size).toBe(new Set(TEXTS).size);
    for (const text of TEXTS) expect(decodeText(Buffer.from(encodeText(text)).toString())).toBe(text);
  });

  it("sorts there by its bytes as it does here by its code units", () => {
    const there = TEXTS.toSorted((a, b) => Buffer.compare(Buffer.from(encodeText(a)), Buffer.from(encodeText(b))));
    expect(there).toEqual(TEXTS.toSorted());
  });
});
