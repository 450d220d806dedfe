import { describe, expect, test } from "vitest";
import { Addressed } from "../../src/host/addressed.ts";
import { Arrivals } from "../../src/host/arrivals.ts";
import { RequestNames } from "../../src/host/request-names.ts";

describe("how many turns of the event loop it takes to know of a hang-up", () => {
  test("is what the runtime says, by default two", () => {
    expect(new Arrivals({}).turnsToKnow()).toBe(2);
    expect(new Arrivals({ hangUpTurns: 1 }).turnsToKnow()).toBe(1);
  });

  test("is one less for what has waited until all was read, and never less than none", () => {
    for (const [hangUpTurns, left] of [
      [2, 1],
      [1, 0],
      [0, 0],
    ] as const) {
      const arrivals = new Arrivals({ hangUpTurns });
      let seen: number | undefined;
      arrivals.allRead(() => (seen = arrivals.turnsToKnow()));
      expect(seen).toBe(left);
      expect(arrivals.turnsToKnow()).toBe(hangUpTurns);
    }
  });

  test("counts on after work that threw", () => {
    const arrivals = new Arrivals({});
    expect(() =>
      arrivals.allRead(() => {
        throw new Error("broken");
      }),
    ).toThrow("broken");
    expect(arrivals.turnsToKnow()).toBe(2);
  });
});

describe("the names of requests without one", () => {
  test("are never the same, and rest on a secret of each life of the program", () => {
    const secrets = ["one", "two"];
    const mint = { token: (): string => secrets.shift() ?? "three" };
    const [first, second] = [new RequestNames(mint), new RequestNames(mint)];
    const names = [first.next(), first.next(), second.next(), second.next()];
    expect(new Set(names).size).toBe(4);
    expect(names.map((name) => name.split(".")[0])).toEqual(["one", "one", "two", "two"]);
  });
});

describe("what is kept by address", () => {
  test("is found under its caller and its request only, counted, and gone when deleted", () => {
    const kept = new Addressed<number>();
    kept.set("@a", "r", 1);
    kept.set("@b", "r", 2);
    kept.set("@a", "r", 3);
    expect([kept.get("@a", "r"), kept.get("@b", "r"), kept.get("@a", "s"), kept.get("@c", "r")]).toEqual([
      3,
      2,
      undefined,
      undefined,
    ]);
    expect([kept.size, ...kept.values()]).toEqual([2, 3, 2]);
    kept.delete("@a", "r");
    kept.delete("@a", "r");
    expect(kept.size).toBe(1);
    kept.clear();
    expect([kept.size, ...kept.values()]).toEqual([0]);
  });
});
