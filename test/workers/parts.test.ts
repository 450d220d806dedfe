import { describe, expect, test } from "vitest";
import { partOf } from "../../src/protocol/spread.ts";
import { ObjectAlarm } from "../../src/workers/alarm.ts";
import { Flow } from "../../src/workers/flow.ts";
import { nameOf, placeOf } from "../../src/workers/objects.ts";
import { readSettings } from "../../src/workers/settings.ts";
import { mergeFor } from "../../src/workers/spread.ts";

const MEGABYTE = "x".repeat(1024 * 1024);

describe("the one alarm", () => {
  const alarmOver = (armed: number | null): { readonly alarm: ObjectAlarm; readonly set: number[] } => {
    const set: number[] = [];
    const storage = {
      getAlarm: async () => armed,
      setAlarm: async (at: number) => void set.push(at),
    };
    return { alarm: new ObjectAlarm(storage, (error) => expect.fail(String(error))), set };
  };
  const turn = (): Promise<void> => Promise.resolve();

  test("is set once for all that one turn sets, and rounded up", async () => {
    const { alarm, set } = alarmOver(null);
    await alarm.read(0);
    for (const at of [300, 200.25, 250]) alarm.set(at);
    await turn();
    expect(set).toEqual([250]);
    alarm.set(200.25);
    await turn();
    expect(set).toEqual([250, 201]);
  });

  test("is moved to an earlier time only, and to the later one when it has gone off", async () => {
    const { alarm, set } = alarmOver(null);
    await alarm.read(0);
    alarm.set(100);
    await turn();
    alarm.set(500);
    await turn();
    expect(set).toEqual([100]);
    alarm.fired();
    alarm.set(500);
    await turn();
    expect(set).toEqual([100, 500]);
  });

  test("that could not be set is set with the next deadline, also a later one", async () => {
    const errors: unknown[] = [];
    const set: number[] = [];
    const storage = {
      getAlarm: async () => null,
      setAlarm: async (at: number) => {
        set.push(at);
        if (set.length === 1) throw new Error("the disk is gone");
      },
    };
    const alarm = new ObjectAlarm(storage, (error) => errors.push(error));
    await alarm.read(0);
    alarm.set(100);
    await turn();
    await turn();
    expect(errors).toHaveLength(1);
    alarm.set(200);
    await turn();
    expect(set).toEqual([100, 200]);
  });

  test("of an earlier life is not set again, unless it is past", async () => {
    const early = alarmOver(90);
    early.alarm.set(100);
    await early.alarm.read(50);
    expect(early.set).toEqual([]);
    const past = alarmOver(40);
    past.alarm.set(100);
    await past.alarm.read(50);
    expect(past.set).toEqual([100]);
  });
});

describe("what is under way to a peer", () => {
  test("counts as nothing for one that reads, however much it is", () => {
    let heardAt = 0;
    const flow = new Flow(() => heardAt);
    for (let now = 1; now < 200; now++) {
      flow.sent(MEGABYTE, now);
      heardAt = now + 0.5;
      expect(flow.buffered).toBeLessThanOrEqual(1024 * 1024);
    }
  });

  test("passes the limit for one that does not, which is asked now and then", () => {
    const flow = new Flow(() => undefined);
    const probes = Array.from({ length: 20 }, (_, now) => flow.sent(MEGABYTE, now)).filter((probe) => probe === "ping");
    expect(probes).toHaveLength(1);
    expect(flow.buffered).toBeGreaterThan(1024 * 1024);
  });
});

describe("names and parts", () => {
  test("a place is found in the name that it gave, and a space that is not spread has its own name", () => {
    expect(nameOf({ space: "builds", part: 0, spread: 1 })).toBe("builds");
    expect(placeOf("builds")).toEqual({ space: "builds", part: 0, spread: 1 });
    for (const place of [{ space: "a.b-c_d", part: 7, spread: 16 }]) expect(placeOf(nameOf(place))).toEqual(place);
  });

  // Clients in the field have this function: these numbers must never change.
  test.each([
    ["", 2_166_136_261],
    ["a", 723_832_900],
    ["doc:42", 503_552_825],
    ["\ud800", 3_111_624_773],
  ])("the part of %j is what it always was", (key, hash) => {
    expect(partOf(key, 2 ** 32)).toBe(hash);
    expect(partOf(key, 16)).toBe(hash % 16);
    expect(partOf(key, 1)).toBe(0);
  });

  test("keys spread evenly", () => {
    const counts = Array.from({ length: 8 }, () => 0);
    for (let i = 0; i < 8000; i++) counts[partOf(`order:${i}`, 8)]! += 1;
    for (const count of counts) expect(count).toBeGreaterThan(850);
  });

  test("what is of one key has no merge", () => {
    expect(mergeFor("GET", "/v1/latch/a")).toBeUndefined();
    expect(mergeFor("POST", "/v1/latch/a/acquire")).toBeUndefined();
    expect(mergeFor("GET", "/v1/latch")).toBeDefined();
  });
});

describe("settings", () => {
  test("have the longer heartbeat, and what the variables say", () => {
    const bindings = { LOCKS: { getByName: () => undefined } };
    expect(readSettings(bindings)).toMatchObject({
      heartbeatMs: 20_000,
      deadlineMs: 60_000,
      spread: 1,
      socketsMax: 32_768,
    });
    const env = { ...bindings, LATCHKEY_HEARTBEAT: "1s", LATCHKEY_DEADLINE: "5s", LATCHKEY_SPREAD: "8" };
    expect(readSettings(env)).toMatchObject({ heartbeatMs: 1000, deadlineMs: 5000, spread: 8 });
  });

  test.each([
    { LATCHKEY_SPREAD: "0" },
    { LATCHKEY_SPREAD: "many" },
    { LATCHKEY_SOCKETS_MAX: "32769" },
    { LOCK_TTL: "soon" },
  ])("that are wrong stop the Worker and name the variable: %j", (env) => {
    expect(() => readSettings(env)).toThrow(Object.keys(env)[0]!);
  });
});
