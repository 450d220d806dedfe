/** `steal`: the lock at once, from whoever holds it. */

import { check, domException, Events, gate, microtasks, same } from "./check.ts";
import type { Case } from "./trial.ts";

const STEAL = { steal: true };
const SHARED = { mode: "shared" };

export const stealCases: readonly Case[] = [
  {
    name: "steal: a free name is simply taken",
    async run(t) {
      same(await t.locks.request(t.name(), STEAL, () => "ran"), "ran", "the result");
    },
  },
  {
    name: "steal: a name that is held is taken at once",
    async run(t) {
      const name = t.name();
      await t.held(name);
      await t.held(name, STEAL);
      same(await t.seen(name), { held: ["exclusive"], pending: [] }, "what is seen");
    },
  },
  {
    name: "steal: who loses the lock is told with an AbortError",
    async run(t) {
      const name = t.name();
      const victim = await t.held(name);
      await t.held(name, STEAL);
      await domException(victim.result, "AbortError");
    },
  },
  {
    name: "steal: a lock of another client is taken alike",
    async run(t) {
      const name = t.name();
      const victim = await t.held(name);
      await t.held(name, STEAL, t.second);
      await domException(victim.result, "AbortError");
    },
  },
  {
    name: "steal: all who share the lock lose it",
    async run(t) {
      const name = t.name();
      const victims = [await t.held(name, SHARED), await t.held(name, SHARED, t.second), await t.held(name, SHARED)];
      await t.held(name, STEAL, t.third);
      for (const victim of victims) await domException(victim.result, "AbortError");
    },
  },
  {
    name: "steal: the request of who loses it does not wait for its callback, which goes on",
    async run(t) {
      const name = t.name();
      const events = new Events();
      const { opened, open } = gate();
      const holding = gate();
      const victim = t.locks.request(name, async () => {
        holding.open();
        await opened;
        events.add("went on");
      });
      await holding.opened;
      const thief = await t.held(name, STEAL);
      await domException(victim, "AbortError");
      events.add("rejected");
      open();
      await microtasks();
      events.are("rejected", "went on");
      await thief.done();
    },
  },
  {
    name: "steal: the end of a callback that lost its lock does not touch the thief's",
    async run(t) {
      const name = t.name();
      const victim = await t.held(name);
      await t.held(name, STEAL);
      await domException(victim.result, "AbortError");
      victim.release(undefined);
      await t.turn();
      same((await t.seen(name)).held, ["exclusive"], "who holds");
      check(!(await t.isFree(name)), "the name is not free");
    },
  },
  {
    name: "steal: those who wait go on waiting, and have their turn in order when the thief is done",
    async run(t) {
      const name = t.name();
      await t.held(name);
      const events = new Events();
      const waiting = [1, 2].map((which) => t.locks.request(name, () => events.add(`${which}`)));
      await t.turn();
      const thief = await t.held(name, STEAL, t.second);
      await t.turn();
      events.are();
      await thief.done();
      await Promise.all(waiting);
      events.are("1", "2");
    },
  },
  {
    name: "steal: it goes before everybody who waits",
    async run(t) {
      const name = t.name();
      await t.held(name);
      const waiting = t.hold(name);
      await t.turn();
      await t.held(name, STEAL);
      check(!waiting.isGranted, "who came before it waits on");
      same(await t.seen(name), { held: ["exclusive"], pending: ["exclusive"] }, "what is seen");
    },
  },
  {
    name: "steal: of several thieves the last one holds",
    async run(t) {
      const name = t.name();
      const first = await t.held(name, STEAL);
      const second = await t.held(name, STEAL, t.second);
      const third = await t.held(name, STEAL);
      await domException(first.result, "AbortError");
      await domException(second.result, "AbortError");
      same(await third.done("kept"), "kept", "the result of the last");
      check(await t.isFree(name), "the name is free");
    },
  },
  {
    name: "steal: other names are not touched",
    async run(t) {
      const other = await t.held(t.name());
      await t.held(t.name(), STEAL);
      same(await other.done("kept"), "kept", "the result");
    },
  },
  {
    name: "steal: a lock that was let go before cannot be lost any more",
    async run(t) {
      const name = t.name();
      const holder = await t.held(name);
      same(await holder.done("kept"), "kept", "the result");
      await t.held(name, STEAL);
      same(await holder.result, "kept", "the result later");
    },
  },
  {
    name: "steal: the loss has its reason as a cause, and the lock's signal tells of it",
    needs: ["lock"],
    async run(t) {
      const name = t.name();
      const victim = await t.held(name);
      const { signal } = await victim.granted;
      check(signal?.aborted === false, "the signal is not aborted before");
      await t.held(name, STEAL, t.second);
      const { cause } = (await domException(victim.result, "AbortError")) as {
        cause?: { name?: string; reason?: string };
      };
      same([cause?.name, cause?.reason], ["LockLostError", "stolen"], "the cause");
      check(signal.aborted, "the signal is aborted");
      same(signal.reason, cause, "the reason of the signal");
    },
  },
];
