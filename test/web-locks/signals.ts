/** `signal`: it ends a wait, in the same moment, and means nothing to a lock that is held. */

import { check, domException, microtasks, rejection, same } from "./check.ts";
import type { Case } from "./trial.ts";

const SHARED = { mode: "shared" };

const before: readonly Case[] = [
  {
    name: "signal: one that is aborted already is the rejection, with its reason",
    async run(t) {
      let ran = false;
      const request = (signal: AbortSignal): Promise<unknown> =>
        t.locks.request(t.name(), { signal }, () => (ran = true));
      await domException(request(AbortSignal.abort()), "AbortError");
      for (const reason of [new Error("enough"), "text", null, 0, false]) {
        same(await rejection(request(AbortSignal.abort(reason))), reason, "the reason");
      }
      await t.turn();
      check(!ran, "the callback never runs");
    },
  },
  {
    name: "signal: one that does not abort changes nothing",
    async run(t) {
      const { signal } = t.controller();
      same(await t.locks.request(t.name(), { signal }, () => "ran"), "ran", "the result");
    },
  },
  {
    name: "signal: an abort in the turn of the request wins, though the name is free",
    async run(t) {
      const name = t.name();
      const controller = t.controller();
      let ran = false;
      const request = t.locks.request(name, { signal: controller.signal }, () => (ran = true));
      controller.abort();
      await domException(request, "AbortError");
      await t.turn();
      check(!ran, "the callback never runs");
    },
  },
  {
    name: "signal: and it leaves no lock behind",
    async run(t) {
      for (let times = 0; times < 5; times++) {
        const name = t.name();
        const controller = t.controller();
        const request = t.locks.request(name, { signal: controller.signal }, () => undefined);
        controller.abort();
        await rejection(request);
        await t.turn();
        same(await t.seen(name), { held: [], pending: [] }, "what is seen");
        check(await t.isFree(name, t.second), "the name is free");
      }
    },
  },
  {
    name: "signal: the next request has the lock after an abort in the same turn",
    async run(t) {
      const name = t.name();
      const controller = t.controller();
      const first = t.locks.request(name, { signal: controller.signal }, () => "first");
      const second = t.locks.request(name, () => "second");
      controller.abort();
      await rejection(first);
      same(await second, "second", "the result");
    },
  },
];

const waiting: readonly Case[] = [
  {
    name: "signal: a wait ends with the reason of the abort",
    async run(t) {
      const name = t.name();
      await t.held(name);
      for (const reason of [undefined, new Error("enough"), "text", null, 0]) {
        const controller = t.controller();
        const waits = t.hold(name, { signal: controller.signal });
        await t.turn();
        controller.abort(reason);
        same(await rejection(waits.result), controller.signal.reason, "the reason");
      }
    },
  },
  {
    name: "signal: the rejection comes in the turn of the abort",
    async run(t) {
      const name = t.name();
      await t.held(name);
      const controller = t.controller();
      const waits = t.hold(name, { signal: controller.signal });
      await t.turn();
      controller.abort();
      await microtasks();
      check(waits.isSettled, "the request has settled");
    },
  },
  {
    name: "signal: the callback of a wait that was ended never runs",
    async run(t) {
      const name = t.name();
      const holder = await t.held(name);
      const controller = t.controller();
      const waits = t.hold(name, { signal: controller.signal });
      await t.turn();
      controller.abort();
      await rejection(waits.result);
      await holder.done();
      await t.turn();
      check(!waits.isGranted, "it was never granted");
      check(await t.isFree(name), "the name is free");
    },
  },
  {
    name: "signal: a wait that was ended is pending no more",
    async run(t) {
      const name = t.name();
      await t.held(name);
      const controller = t.controller();
      const waits = t.hold(name, { signal: controller.signal });
      await t.turn();
      same((await t.seen(name)).pending, ["exclusive"], "who waits before");
      controller.abort();
      await rejection(waits.result);
      await t.turn();
      same((await t.seen(name)).pending, [], "who waits after");
    },
  },
  {
    name: "signal: shared ones behind an exclusive one that gave up are granted at once",
    async run(t) {
      const name = t.name();
      await t.held(name, SHARED);
      const controller = t.controller();
      const writer = t.hold(name, { signal: controller.signal });
      await t.turn();
      const readers = [t.hold(name, SHARED), t.hold(name, SHARED, t.second)];
      await t.turn();
      check(!readers.some(({ isGranted }) => isGranted), "they wait behind it");
      controller.abort();
      await rejection(writer.result);
      await t.turn();
      check(
        readers.every(({ isGranted }) => isGranted),
        "they hold",
      );
    },
  },
  {
    name: "signal: those who wait before and behind keep their order",
    async run(t) {
      const name = t.name();
      const holder = await t.held(name);
      const controller = t.controller();
      const first = t.hold(name);
      const middle = t.hold(name, { signal: controller.signal });
      const last = t.hold(name);
      await t.turn();
      controller.abort();
      await rejection(middle.result);
      await holder.done();
      await first.granted;
      await t.turn();
      check(!last.isGranted, "the last one waits for the first");
      await first.done();
      await last.granted;
    },
  },
  {
    name: "signal: one signal ends all the waits that it was given to, and no lock that is held",
    async run(t) {
      const name = t.name();
      const controller = t.controller();
      const { signal } = controller;
      const holder = await t.held(name, { signal });
      const waits = [t.hold(name, { signal }), t.hold(name, { signal, mode: "shared" })];
      await t.turn();
      controller.abort();
      for (const { result } of waits) await domException(result, "AbortError");
      same(await holder.done("kept"), "kept", "the result");
    },
  },
  {
    name: "signal: a timeout is a signal like any other",
    async run(t) {
      const name = t.name();
      await t.held(name);
      const waits = t.hold(name, { signal: AbortSignal.timeout(20) });
      await domException(waits.result, "TimeoutError");
    },
  },
  {
    name: "signal: any of several is a signal like any other",
    async run(t) {
      const name = t.name();
      await t.held(name);
      const controller = t.controller();
      const signal = AbortSignal.any([controller.signal, t.controller().signal]);
      const waits = t.hold(name, { signal });
      controller.abort("enough");
      same(await rejection(waits.result), "enough", "the reason");
    },
  },
];

const after: readonly Case[] = [
  {
    name: "signal: an abort after the grant does nothing",
    async run(t) {
      const name = t.name();
      const controller = t.controller();
      const holder = await t.held(name, { signal: controller.signal });
      controller.abort();
      await t.turn();
      check(!holder.isSettled, "the request goes on");
      check(!(await t.isFree(name)), "the lock is held");
      same(await holder.done("kept"), "kept", "the result");
    },
  },
  {
    name: "signal: an abort from within the callback does nothing",
    async run(t) {
      const name = t.name();
      const controller = t.controller();
      const result = await t.locks.request(name, { signal: controller.signal }, async () => {
        controller.abort();
        return (await t.seen(name)).held.length;
      });
      same(result, 1, "how many hold after the abort");
    },
  },
  {
    name: "signal: an abort after the release does nothing",
    async run(t) {
      const name = t.name();
      const controller = t.controller();
      const request = t.locks.request(name, { signal: controller.signal }, () => "kept");
      await request;
      controller.abort();
      same(await request, "kept", "the result");
      check(await t.isFree(name), "the name is free");
    },
  },
  {
    name: "signal: a lock that is held does not hinder a later request with another signal",
    async run(t) {
      const name = t.name();
      const first = t.controller();
      const holder = await t.held(name, { signal: first.signal });
      const second = t.controller();
      const waits = t.hold(name, { signal: second.signal });
      first.abort();
      await t.turn();
      check(!waits.isSettled, "the other one waits on");
      await holder.done();
      await waits.granted;
    },
  },
];

export const signalCases: readonly Case[] = [...before, ...waiting, ...after];
