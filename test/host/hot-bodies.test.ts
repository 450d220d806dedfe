import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { isPlainAcquire, isPlainExtend, isPlainRelease } from "../../src/host/hot-bodies.ts";
import { AcquireBody, ExtendBody, ReleaseBody } from "../../src/protocol/bodies.ts";

/** Values at, within and past every limit, and of every wrong kind. */
const TTLS = [99, 100, 86_400_000, 86_400_001, 100.5, "100", null, undefined];
const TIMEOUTS = [0, -0, 600_000, 600_001, -1, 1.5, "1", null, undefined];
const MODES = ["exclusive", "shared", "Shared", null, undefined];
const IDS = ["r", "", "x".repeat(255), "x".repeat(256), 1, undefined];
const TOKENS = ["t", "", "x".repeat(128), "x".repeat(129), 3, null, undefined];
const OTHERS = [
  {},
  { limit: 2 },
  { token: "t" },
  { steal: true },
  { nest: true },
  { on_timeout: "ok" },
  { unknown: 1 },
];

describe("the bodies that are checked by hand", () => {
  test("an acquire is plain only where its schema reads it as it is", () => {
    const counts = { plain: 0, left: 0 };
    for (const ttl of TTLS) {
      for (const timeout of TIMEOUTS) {
        for (const mode of MODES) {
          for (const request_id of IDS) {
            for (const other of OTHERS) {
              agree(AcquireBody, isPlainAcquire, compact({ ttl, timeout, mode, request_id, ...other }), counts);
            }
          }
        }
      }
    }
    expect(Math.min(counts.plain, counts.left)).toBeGreaterThan(0);
  });

  test("so is an extend, and so is a release", () => {
    const counts = { plain: 0, left: 0 };
    for (const token of TOKENS) {
      for (const other of [...OTHERS, { hand_to: "s" }]) {
        agree(ReleaseBody, isPlainRelease, compact({ token, ...other }), counts);
        for (const ttl of TTLS) agree(ExtendBody, isPlainExtend, compact({ token, ttl, ...other }), counts);
      }
    }
    expect(Math.min(counts.plain, counts.left)).toBeGreaterThan(0);
  });

  test("what nearly all calls carry is among them", () => {
    expect(isPlainAcquire({})).toBe(true);
    expect(isPlainAcquire({ ttl: 10_000, timeout: 10_000 })).toBe(true);
    expect(isPlainRelease({ token: "t" })).toBe(true);
    expect(isPlainExtend({ token: "t", ttl: 10_000 })).toBe(true);
  });

  test("a member that JSON names __proto__ is no plain one", () => {
    for (const isPlain of [isPlainAcquire, isPlainExtend, isPlainRelease]) {
      expect(isPlain(JSON.parse('{"token":"t","ttl":1000,"__proto__":{"steal":true}}') as object)).toBe(false);
    }
  });
});

function agree(
  schema: v.GenericSchema,
  isPlain: (value: object) => boolean,
  body: object,
  counts: { plain: number; left: number },
): void {
  if (!isPlain(body)) {
    counts.left += 1;
    return;
  }
  counts.plain += 1;
  const read = v.safeParse(schema, body);
  expect({ body, read: read.success && read.output }).toEqual({ body, read: body });
}

/** As JSON says it: without members that are undefined. */
function compact(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
}
