import { describe, expect, test } from "vitest";
import { backoffMs } from "../../src/client/backoff.ts";
import { awakeClock, pause } from "../../src/client/clock.ts";
import { Heartbeat } from "../../src/client/heartbeat.ts";
import { leaseUntil, marginMs } from "../../src/client/lease.ts";
import { suspensionOf } from "../../src/client/resume.ts";
import { welcome } from "./support/scripted-server.ts";
import { outcome, VirtualTime } from "./support/virtual-time.ts";

describe("the clock", () => {
  test("counts the time that the machine slept, which only the wall clock has seen", () => {
    const time = new VirtualTime();
    const now = awakeClock(time);
    const before = now();
    time.suspend(60_000);
    expect(now() - before).toBe(60_000);
  });

  test("does not count a sleep twice", () => {
    const time = new VirtualTime();
    const now = awakeClock(time);
    const before = now();
    time.suspend(60_000);
    now();
    time.monoMs += 10;
    time.wallMs += 10;
    expect(now() - before).toBe(60_010);
  });

  test("goes on with the monotonic clock when the wall clock is set back", () => {
    const time = new VirtualTime();
    const now = awakeClock(time);
    const before = now();
    time.wallMs -= 3_600_000;
    expect(now() - before).toBe(0);
    time.monoMs += 100;
    time.wallMs += 100;
    expect(now() - before).toBe(100);
  });

  test("still notices a sleep after the wall clock was set back", () => {
    const time = new VirtualTime();
    const now = awakeClock(time);
    const before = now();
    time.wallMs -= 3_600_000;
    now();
    time.suspend(60_000);
    expect(now() - before).toBe(60_000);
  });

  test("does not run faster because the wall clock is coarse", () => {
    const time = new VirtualTime();
    const now = awakeClock(time);
    const before = now();
    for (let step = 1; step <= 1000; step++) {
      time.monoMs += 0.3;
      time.wallMs = Math.floor(1_700_000_000_000 + step * 0.3);
      now();
    }
    expect(now() - before).toBeCloseTo(300, 5);
  });

  test("a pause ends at once when its signal aborts, and leaves no timer", async () => {
    const time = new VirtualTime();
    const stop = new AbortController();
    const pausing = pause(time, 1_000, stop.signal);
    stop.abort(new Error("enough"));
    expect(await outcome(pausing)).toEqual(new Error("enough"));
    expect(await outcome(pause(time, 1_000, stop.signal))).toEqual(new Error("enough"));
    expect(time.timers).toBe(0);
  });
});

describe("how long a client believes", () => {
  test("the margin is a tenth, but never more than two seconds", () => {
    expect(marginMs(300)).toBe(30);
    expect(marginMs(15_000)).toBe(1_500);
    expect(marginMs(3_600_000)).toBe(2_000);
  });

  test("a lease without an end has none", () => {
    expect(leaseUntil(1_000, undefined)).toBe(Number.POSITIVE_INFINITY);
  });

  test("a lease counts from a moment that the server had not reached", () => {
    expect(leaseUntil(1_000, 10_000)).toBe(10_000);
  });
});

describe("the heartbeat", () => {
  const welcomed = (deadlineMs = 15_000): Heartbeat => {
    const heartbeat = new Heartbeat();
    heartbeat.reconnected();
    heartbeat.welcomed(1_000, deadlineMs);
    return heartbeat;
  };
  /** Until when a session with a grace is believed whose connection closes at `now`. */
  const believedUntil = (heartbeat: Heartbeat, now: number, grace: number, deadline = 15_000): number | undefined => {
    return suspensionOf(now, heartbeat, welcome({ grace, deadline }), 1006, true).believedUntil;
  };

  test("before the first ack, life counts from the time that hello was sent", () => {
    expect(welcomed().deadAt).toBe(1_000 + 13_500);
  });

  test("an ack proves life at the time that its pong was sent, not at the time that it came", () => {
    const heartbeat = welcomed();
    heartbeat.ponged(6_000);
    heartbeat.acked();
    expect(heartbeat.deadAt).toBe(6_000 + 13_500);
  });

  test("a pong without an ack proves nothing", () => {
    const heartbeat = welcomed();
    heartbeat.ponged(6_000);
    expect(heartbeat.deadAt).toBe(1_000 + 13_500);
  });

  test("with two pongs on their way the ack is for the older one", () => {
    const heartbeat = welcomed();
    heartbeat.ponged(6_000);
    heartbeat.ponged(11_000);
    heartbeat.acked();
    expect(heartbeat.deadAt).toBe(6_000 + 13_500);
  });

  test("an ack for nothing proves nothing", () => {
    const heartbeat = welcomed();
    heartbeat.acked();
    expect(heartbeat.deadAt).toBe(1_000 + 13_500);
  });

  test("a pong of the connection before is not acked by this one", () => {
    const heartbeat = welcomed();
    heartbeat.ponged(6_000);
    heartbeat.reconnected();
    heartbeat.welcomed(7_000, 15_000);
    heartbeat.ponged(12_000);
    heartbeat.acked();
    expect(heartbeat.heardAt).toBe(12_000);
  });

  test("without a connection only the grace from the last proof of life is safe: the server may have noticed right after it", () => {
    const heartbeat = welcomed();
    heartbeat.ponged(6_000);
    heartbeat.acked();
    expect(believedUntil(heartbeat, 9_000, 10_000)).toBe(6_000 + 9_000);
  });

  test("no grace is over at once", () => {
    expect(believedUntil(welcomed(), 9_000, 0)).toBe(undefined);
  });

  test("without a heartbeat the socket lives until it is closed, and the grace counts from there", () => {
    const heartbeat = welcomed(0);
    expect(heartbeat.deadAt).toBe(Number.POSITIVE_INFINITY);
    expect(believedUntil(heartbeat, 70_000, 10_000, 0)).toBe(79_000);
  });
});

describe("the wait before a reconnect", () => {
  test("has full jitter: from nothing to the bound", () => {
    expect(backoffMs(0, 0)).toBe(0);
    expect(backoffMs(0, 0.5)).toBe(125);
    expect(backoffMs(3, 0.999)).toBeCloseTo(1_998);
  });

  test("has a bound that doubles up to the cap", () => {
    expect([0, 1, 2, 5, 6, 100].map((failures) => backoffMs(failures, 1))).toEqual([
      250, 500, 1_000, 8_000, 10_000, 10_000,
    ]);
  });

  test("is at least half the cap when the server asked for later", () => {
    expect(backoffMs(0, 0, true)).toBe(5_000);
    expect(backoffMs(100, 1, true)).toBe(10_000);
  });
});
