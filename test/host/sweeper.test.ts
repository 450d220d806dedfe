import { expect, test } from "vitest";
import { Sweeper } from "../../src/host/sweeper.ts";
import { Timers } from "../../src/host/timers.ts";
import { FakeStore } from "./support/store.ts";
import { VirtualTime } from "./support/time.ts";

/** A sweeper whose store answers what the test says. */
function sweeper(answers: readonly number[]): {
  readonly time: VirtualTime;
  readonly sweep: Sweeper;
  readonly at: number[];
} {
  const time = new VirtualTime();
  const store = new FakeStore();
  const timers = new Timers(time);
  time.wake = () => timers.run(time.now());
  const left = [...answers];
  const at: number[] = [];
  store.sweep = (now) => {
    at.push(now);
    return left.shift() ?? Infinity;
  };
  const onError = (error: unknown): never => expect.fail(String(error));
  return { time, sweep: new Sweeper({ clock: time, store, timers, everyMs: 1000, onError }), at };
}

test("the store is looked through once at the start, in pieces, and not again for nothing", () => {
  const { time, sweep, at } = sweeper([0, 0]);
  sweep.begin();
  sweep.begin();
  time.advance(1_000_000);
  expect(at).toEqual([1000.5, 1005.5, 1010.5]);
});

test("it is called for what expires, at the end of its group", () => {
  const { time, sweep, at } = sweeper([Infinity]);
  sweep.begin();
  sweep.watch(5200);
  sweep.watch(9000);
  sweep.watch(Infinity);
  time.advance(100_000);
  expect(at).toEqual([1000.5, 6000]);
});

test("what is committed while a look is under way is not forgotten", () => {
  const { time, sweep, at } = sweeper([0, 60_000]);
  sweep.begin();
  sweep.watch(3500);
  time.advance(1_000_000);
  expect(at).toEqual([1000.5, 1005.5, 4000]);
});

test("what the store has told of counts where it is sooner", () => {
  const { time, sweep, at } = sweeper([2500]);
  sweep.begin();
  sweep.watch(30_000);
  time.advance(10_000);
  expect(at).toEqual([1000.5, 3000]);
});
