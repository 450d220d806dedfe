import { expect, test } from "vitest";
import type { Command } from "../../src/core/index.ts";
import { FleetError } from "../../src/fleet/error.ts";
import { Fleet } from "../../src/fleet/fleet.ts";
import { SCRIPT_THAT_FREES } from "../../src/fleet/full.ts";
import { openFleet, withFleetTimes } from "../../src/fleet/open.ts";
import type { Connector, Listener } from "../../src/fleet/connector.ts";
import { turn } from "./support/space.ts";
import { VirtualTime } from "../host/support/time.ts";

const ANSWER = '{"standing":"unknown","served":0,"last":0,"letters":[],"now":1,"epoch":"1"}';

function world() {
  const time = new VirtualTime();
  const redis = {
    inspect: undefined as Error | undefined,
    run: undefined as Error | undefined,
    /** What is carried out all the same. */
    takes: undefined as RegExp | undefined,
    answer: ANSWER,
    listener: undefined as Listener | undefined,
  };
  const asked: string[] = [];
  const errors: unknown[] = [];
  const connector: Connector = {
    run: async ({ script, args }) => {
      asked.push("run");
      const isTaken = script === SCRIPT_THAT_FREES || redis.takes?.test(args.join(" ")) === true;
      if (redis.run !== undefined && !isTaken) throw redis.run;
      return redis.answer;
    },
    inspect: async () => {
      asked.push("inspect");
      if (redis.inspect !== undefined) throw redis.inspect;
      return { durable: true };
    },
    subscribe: (_channel, listener) => {
      redis.listener = listener;
      return { renew: () => undefined, close: () => undefined };
    },
    close: async () => void asked.push("close"),
  };
  let minted = 0;
  const mint = { token: () => `t${++minted}` };
  const fleet = new Fleet({ connector, clock: time, mint, onError: (error) => void errors.push(error) });
  return { time, redis, asked, errors, fleet };
}

test("whoever asks whether Redis is there is told what was true just now", async () => {
  const { fleet, time, redis, asked } = world();
  expect(await fleet.isAvailable()).toBe(true);
  expect(await fleet.isAvailable()).toBe(true);
  expect(asked).toEqual(["inspect"]);
  redis.inspect = new FleetError("unreachable", "gone");
  time.skip(500);
  expect(await fleet.isAvailable()).toBe(false);
  redis.inspect = undefined;
  expect(await fleet.isAvailable()).toBe(true);
});

test("a Redis that answers questions and does no work is not there, until it works again", async () => {
  const { fleet, redis, errors, asked, time } = world();
  await fleet.ready();
  redis.run = new FleetError("full", "OOM");
  const timers = { nextOrder: () => 1, set: () => undefined } as never;
  const receiver = { effect: () => undefined, stopped: () => undefined, isVacant: false };
  const parts = { name: "s", receiver, timers, limits: {}, quarantineMs: 0 };
  const space = fleet.connect({ ...parts, onLost: () => undefined, onIdle: () => undefined });
  space.submit({ kind: "tick" });
  await Promise.resolve();
  await space.settled();
  time.skip(1);
  expect(await fleet.isAvailable()).toBe(false);
  expect(await fleet.isAvailable()).toBe(false);
  // However often, one outage is told once.
  expect(errors).toEqual([redis.run]);
  asked.length = 0;
  redis.run = undefined;
  expect(await fleet.isAvailable()).toBe(true);
  expect(asked).toEqual(["run"]);
});

test("a full Redis that carries out what frees is full all the same", async () => {
  const { fleet, redis, asked } = world();
  await fleet.ready();
  redis.answer = ANSWER.replace("unknown", "known").replace('"served":0', '"served":1');
  const timers = { nextOrder: () => 1, set: () => undefined } as never;
  const receiver = { effect: () => undefined, stopped: () => undefined, isVacant: false };
  const parts = { name: "s", receiver, timers, limits: {}, quarantineMs: 0 };
  const space = fleet.connect({ ...parts, onLost: () => undefined, onIdle: () => undefined });
  const submit = async (command: Command): Promise<void> => {
    space.submit(command);
    await turn();
  };
  await submit({ kind: "tick" });
  redis.run = new FleetError("full", "OOM");
  await submit({ kind: "open", session: "s", secret: "t", graceMs: 0 });
  expect(await fleet.isAvailable()).toBe(false);
  redis.takes = /"drop"/;
  asked.length = 0;
  await submit({ kind: "drop", session: "other" });
  expect(asked).toContain("run");
  expect(await fleet.isAvailable()).toBe(false);
  redis.run = undefined;
  expect(await fleet.isAvailable()).toBe(true);
});

test("what cannot be read is told of, and not shown: there may be tokens in it", async () => {
  const { fleet, redis, errors } = world();
  const timers = { nextOrder: () => 1, set: () => undefined } as never;
  const receiver = { effect: () => undefined, stopped: () => undefined, isVacant: false };
  const parts = { name: "s", receiver, timers, limits: {}, quarantineMs: 0 };
  const space = fleet.connect({ ...parts, onLost: () => undefined, onIdle: () => undefined });
  const queued = '{"kind":"queued","to":"@","request":"r","key":"k","ticket":1,"position":1}';
  redis.answer = ANSWER.replace("unknown", "known")
    .replace('"served":0,"last":0', '"served":1,"last":1')
    .replace("[]", `[{"effects":[${queued}]}]`);
  space.submit({ kind: "tick" });
  await expect.poll(() => redis.listener).toBeDefined();
  redis.listener!.message('{"process":"p","letter":{"effects":[{"token":"tok-5f1c"x}]}}');
  redis.answer = '{"standing":"known","letters":[{"effects":[{"token":"tok-5f1c"x';
  space.submit({ kind: "tick" });
  await expect.poll(() => errors.length).toBe(2);
  expect(errors).toMatchObject([{ code: "broken" }, { code: "broken" }]);
  expect(String(errors)).not.toContain("5f1c");
  expect(errors.every((error) => (error as Error).cause === undefined)).toBe(true);
});

test("a prefix has no braces: they decide where keys are", () => {
  const ports = { clock: new VirtualTime(), mint: { token: () => "t" }, onError: () => undefined };
  const open = (prefix: string) => () => openFleet({ redis: "redis://h", prefix }, ports);
  expect(open("a:")).not.toThrow();
  for (const prefix of ["a{", "}"]) expect(open(prefix)).toThrow(RangeError);
});

test("an address that is none is refused before anything is connected, and not repeated", () => {
  const ports = { clock: new VirtualTime(), mint: { token: () => "t" }, onError: () => undefined };
  const open = (redis: string) => () => openFleet({ redis }, ports);
  for (const redis of ["redis://h", "rediss://u:p%40@h:1/15"]) expect(open(redis)).not.toThrow();
  for (const redis of ["", "h:6379", "http://h", "redis://:hunter22@h/locks", "redis://:hunter22%@h"]) {
    expect(open(redis)).toThrow(/^redis must be an address as redis:/);
    expect(open(redis)).not.toThrow("hunter22");
  }
});

test("the times of a fleet at their limits, and one past them", () => {
  const ports = { clock: new VirtualTime(), mint: { token: () => "t" }, onError: () => undefined };
  const open = (times: object) => () => openFleet({ redis: "redis://h", ...times }, ports);
  for (const leaseMs of [1000, 60_000]) expect(open({ leaseMs })).not.toThrow();
  for (const leaseMs of [999, 60_001, 1000.5]) expect(open({ leaseMs })).toThrow("leaseMs");
  for (const retryMs of [50, 1000]) expect(open({ retryMs })).not.toThrow();
  for (const retryMs of [49, 1001]) expect(open({ retryMs })).toThrow("retryMs");
});

test("no client believes in its locks for longer than Redis believes in its server", () => {
  const redis = "redis://h";
  expect(withFleetTimes({}, { redis })).toEqual({ heartbeatMs: 2000, deadlineMs: 6000 });
  expect(withFleetTimes({}, { redis, leaseMs: 3000 })).toEqual({ heartbeatMs: 600, deadlineMs: 1800 });
  expect(withFleetTimes({ deadlineMs: 7000, heartbeatMs: undefined }, { redis })).toEqual({
    heartbeatMs: 2000,
    deadlineMs: 7000,
  });
  expect(() => withFleetTimes({ deadlineMs: 7001 }, { redis })).toThrow(
    "deadlineMs must be at most 7000 in this fleet",
  );
});
