import { describe, expect, test } from "vitest";
import { completeSettings } from "../../src/host/settings.ts";

describe("settings", () => {
  test("that are absent or undefined take their defaults", () => {
    const settings = completeSettings({ heartbeatMs: undefined, deadlineMs: 20_000 });
    expect(settings).toMatchObject({
      heartbeatMs: 5000,
      deadlineMs: 20_000,
      graceMaxMs: 60_000,
      helloTimeoutMs: 5000,
      ttlDefaultMs: 30_000,
      ratePerSecond: 20_000,
      loopbackHostsOnly: true,
      keys: [],
    });
  });

  test.each([
    [{ deadlineMs: 5000 }, "deadlineMs"],
    [{ heartbeatMs: 0 }, "heartbeatMs"],
    [{ heartbeatMs: 1.5 }, "heartbeatMs"],
    [{ ttlDefaultMs: 99 }, "ttlDefaultMs"],
    [{ ttlDefaultMs: 86_400_001 }, "ttlDefaultMs"],
    [{ graceMaxMs: -1 }, "graceMaxMs"],
    [{ helloTimeoutMs: Number.NaN }, "helloTimeoutMs"],
    [{ quarantineMs: Number.POSITIVE_INFINITY }, "quarantineMs"],
    [{ spacesMax: 0 }, "spacesMax"],
    [{ streamsMax: -1 }, "streamsMax"],
    [{ keys: [{ name: "a", secret: "secret-of-a", user: "", permissions: [] }] }, "user"],
    [{ ratePerSecond: 0 }, "ratePerSecond"],
    [{ origins: ["https://app.example.com/"] }, "https://app.example.com/"],
    [{ origins: ["https://*.example.com"] }, "*"],
    [{ origins: ["https://APP.example.com"] }, "lower case"],
    [{ origins: ["app.example.com"] }, "scheme"],
    [{ keys: [{ name: "a b", secret: "s", permissions: [] }] }, "name"],
    [{ keys: [{ name: "", secret: "s", permissions: [] }] }, "name"],
    [{ keys: [{ name: "a", secret: "", permissions: [] }] }, "visible"],
    [{ keys: [{ name: "a", secret: "hunter two", permissions: [] }] }, "visible"],
    [{ keys: [{ name: "a", secret: "s", space: "a/b", permissions: [] }] }, "space"],
  ])("that cannot work are refused at the start: %j", (choices, named) => {
    expect(() => completeSettings(choices)).toThrow(RangeError);
    expect(() => completeSettings(choices)).toThrow(named);
    expect(() => completeSettings(choices)).not.toThrow("hunter");
  });

  test("may list origins of every scheme, with a port, and the opaque one", () => {
    const origins = ["https://app.example.com", "http://localhost:3000", "capacitor://localhost", "null"];
    expect(completeSettings({ origins }).origins).toEqual(origins);
  });
});
