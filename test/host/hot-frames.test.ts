import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { hotFrame } from "../../src/host/hot-frames.ts";
import { ClientFrame } from "../../src/protocol/frames.ts";

/** Values at, within and past every limit, and of every wrong kind. */
const IDS = ["a", "", "x".repeat(255), "x".repeat(256), 1, null, undefined];
const KEYS = [
  "k",
  "",
  "x".repeat(85),
  "x".repeat(86),
  "x".repeat(255),
  "x".repeat(256),
  "\ud800",
  "€".repeat(85),
  "€".repeat(86),
  5,
  undefined,
];
const TOKENS = ["t", "", "x".repeat(128), "x".repeat(129), 3, undefined];
const MODES = ["exclusive", "shared", "Shared", null, undefined];
const TIMEOUTS = [0, -0, 1, 86_400_000, 86_400_001, -1, 1.5, "1", Number.NaN, undefined];
const TTLS = [99, 100, 86_400_000, 86_400_001, 100.5, "100", undefined];
const OTHERS = [{}, { limit: 2 }, { token: "t" }, { steal: true }, { meta: { a: 1 } }, { unknown: 1 }, { keep: true }];

describe("the frames that are checked by hand", () => {
  test("a release is read as its schema reads it, or left to it", () => {
    let count = 0;
    for (const id of IDS)
      for (const key of KEYS) for (const token of TOKENS) count += agree({ t: "release", id, key, token });
    expect(count).toBeGreaterThan(0);
  });

  test("an acquire is read as its schema reads it, or left to it", () => {
    let count = 0;
    for (const id of ["a", ""]) {
      for (const key of ["k", "x".repeat(256)]) {
        for (const mode of MODES) {
          for (const timeout of TIMEOUTS) {
            for (const ttl of TTLS) {
              for (const other of OTHERS)
                count += agree(compact({ t: "acquire", id, key, mode, timeout, ttl, ...other }));
            }
          }
        }
      }
    }
    for (const id of IDS) for (const key of KEYS) count += agree(compact({ t: "acquire", id, key }));
    expect(count).toBeGreaterThan(0);
  });

  test("what nearly all traffic is made of is among them", () => {
    expect(hotFrame({ t: "acquire", id: "a", key: "k" })).toBeDefined();
    expect(hotFrame({ t: "acquire", id: "a", key: "k", mode: "shared", ttl: 1000, timeout: 0 })).toBeDefined();
    expect(hotFrame({ t: "release", id: "a", key: "k", token: "t" })).toBeDefined();
  });

  test.each([[null], [undefined], ["text"], [7], [[]], [{}], [{ t: "status", id: "a", key: "k" }]])(
    "anything else is left to the schemas: %j",
    (value) => expect(hotFrame(value)).toBeUndefined(),
  );
});

/** 1 when it was read by hand. */
function agree(value: object): number {
  const hot = hotFrame(value);
  if (hot === undefined) return 0;
  expect(hot).toEqual(v.parse(ClientFrame, value));
  return 1;
}

/** As JSON would bring it. */
function compact(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
}
