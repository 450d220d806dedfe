import { describe, expect, test } from "vitest";
import { readOptions } from "../../bench/harness/options.ts";

function openLoops(...args: string[]): unknown[] {
  const { scenarios } = readOptions(args).run;
  return scenarios.filter(({ shape }) => shape === "open").map(({ arrivals }) => arrivals);
}

describe("the open loop", () => {
  test("goes at shares of the closed loop's rate, in Poisson's way, if nothing else is said", () => {
    expect(openLoops()).toEqual([
      { kind: "poisson", rate: { share: 0.5 } },
      { kind: "poisson", rate: { share: 0.8 } },
    ]);
  });

  test("goes once at a rate that is given", () => {
    expect(openLoops("--rate", "500", "--arrivals", "fixed")).toEqual([{ kind: "fixed", rate: { perSecond: 500 } }]);
  });

  test("knows no other arrivals, and no rate of 0", () => {
    expect(() => readOptions(["--arrivals", "bursts"])).toThrow("poisson or fixed");
    expect(() => readOptions(["--rate", "0"])).toThrow("whole number from 1");
  });
});

describe("a soak", () => {
  test("lasts for as many seconds, minutes or hours", () => {
    const lengthMs = (duration: string): number => {
      const { intervals = 0, intervalMs = 0 } = readOptions(["--soak", "--duration", duration]).soak ?? {};
      return intervals * intervalMs;
    };
    expect(lengthMs("90s")).toBe(90_000);
    expect(lengthMs("10m")).toBe(600_000);
    expect(lengthMs("1h")).toBe(3_600_000);
  });

  test("refuses a duration of nothing, of an unknown unit, or without a soak", () => {
    expect(() => readOptions(["--soak", "--duration", "0s"])).toThrow("90s, 10m or 8h");
    expect(() => readOptions(["--soak", "--duration", "1d"])).toThrow("90s, 10m or 8h");
    expect(() => readOptions(["--duration", "1h"])).toThrow("--soak");
  });
});

test("storms cut what the run can afford, or as many as were asked for", () => {
  const names = (...args: string[]): string[] =>
    readOptions(args)
      .run.scenarios.map(({ name }) => name)
      .filter((name) => name.includes("storm"));
  expect(names()).toEqual(["drop storm 10000", "reconnect storm 5000"]);
  expect(names("--quick")).toEqual(["drop storm 1000", "reconnect storm 2000"]);
  expect(names("--quick", "--sessions", "300")).toEqual(["drop storm 300", "reconnect storm 300"]);
});
