import { expect, test } from "vitest";
import { createAlarm, type NativeTimers } from "../../src/host/alarm.ts";
import { systemClock } from "../../src/host/clock.ts";

/** A clock and native timers that fire as told, also too early. */
function start() {
  const pending = new Map<number, { call: () => void; delayMs: number }>();
  const state = { now: 0, woken: [] as number[], made: 0 };
  const clock = { now: () => state.now, wall: () => 0 };
  const timers: NativeTimers = {
    set: (call, delayMs) => {
      pending.set(++state.made, { call, delayMs });
      return state.made;
    },
    clear: (timer) => pending.delete(timer as number),
  };
  const alarm = createAlarm(clock, () => state.woken.push(state.now), timers);
  const delays = () => [...pending.values()].map(({ delayMs }) => delayMs);
  /** The oldest native timer fires. */
  const fire = (now: number) => {
    state.now = now;
    const [[timer, { call }] = expect.fail("no timer")] = pending;
    pending.delete(timer);
    call();
  };
  return { alarm, state, delays, fire };
}

test("an alarm wakes once, at the instant that was set", () => {
  const { alarm, state, delays, fire } = start();
  alarm.set(100.25);

  expect(delays()).toEqual([101]);
  fire(101);
  expect(state.woken).toEqual([101]);
  expect(delays()).toEqual([]);
});

test("a native timer that fires early does not wake, but sleeps for what is left", () => {
  const { alarm, state, delays, fire } = start();
  alarm.set(100);
  fire(99.4);

  expect(state.woken).toEqual([]);
  expect(delays()).toEqual([1]);
  fire(100);
  expect(state.woken).toEqual([100]);
});

test("an earlier instant replaces a later one", () => {
  const { alarm, state, delays, fire } = start();
  alarm.set(100);
  alarm.set(50);

  expect(delays()).toEqual([50]);
  fire(50);
  expect(state.woken).toEqual([50]);
  expect(delays()).toEqual([]);
});

test("a later instant replaces an earlier one without a new native timer", () => {
  const { alarm, state, delays, fire } = start();
  alarm.set(50);
  alarm.set(100);

  expect(delays()).toEqual([50]);
  fire(50);
  expect(state.woken).toEqual([]);
  expect(delays()).toEqual([50]);
  fire(100);
  expect(state.woken).toEqual([100]);
});

test("infinity means not at all, and what is set after it counts again", () => {
  const { alarm, state, delays, fire } = start();
  alarm.set(Infinity);
  expect(delays()).toEqual([]);
  alarm.set(50);
  alarm.set(Infinity);
  fire(50);

  expect(state.woken).toEqual([]);
  expect(delays()).toEqual([]);
  alarm.set(80);
  expect(delays()).toEqual([30]);
});

test("an instant of the past wakes, but not within the call that sets it", () => {
  const { alarm, state, delays, fire } = start();
  state.now = 10;
  alarm.set(5);

  expect(state.woken).toEqual([]);
  expect(delays()).toEqual([0]);
  fire(10);
  expect(state.woken).toEqual([10]);
});

test("an instant that is further away than native timers reach is slept to in steps", () => {
  const { alarm, state, delays, fire } = start();
  const longestMs = 2 ** 31 - 1;
  alarm.set(longestMs + 1000);

  expect(delays()).toEqual([longestMs]);
  fire(longestMs);
  expect(state.woken).toEqual([]);
  expect(delays()).toEqual([1000]);
});

test("a stopped alarm never wakes", () => {
  const { alarm, state, delays } = start();
  alarm.set(50);
  alarm.stop();
  alarm.set(20);

  expect(delays()).toEqual([]);
  expect(state.woken).toEqual([]);
});

test("the runtime's own timers wake, and never early", async () => {
  for (let i = 0; i < 20; i++) {
    const at = systemClock.now() + 3.5;
    await new Promise<void>((resolve) => {
      createAlarm(systemClock, resolve).set(at);
      // The alarm's own timer does not keep a process alive, the test runner's does.
    });
    expect(systemClock.now()).toBeGreaterThanOrEqual(at);
  }
});
