/** The callback, what it gets, and what becomes of its result. */

import { check, Events, gate, rejection, same } from "./check.ts";
import type { Case, GrantedLock } from "./trial.ts";

const results: readonly Case[] = [
  {
    name: "the request resolves with what the callback returns",
    async run(t) {
      const result = { some: "thing" };
      same(await t.locks.request(t.name(), () => result), result, "the result");
      same(await t.locks.request(t.name(), () => undefined), undefined, "the result");
    },
  },
  {
    name: "the request resolves with what the callback's promise resolves with",
    async run(t) {
      same(await t.locks.request(t.name(), async () => "later"), "later", "the result");
      same(await t.locks.request(t.name(), () => Promise.resolve("later")), "later", "the result");
    },
  },
  {
    name: "a thenable that the callback returns is waited for",
    async run(t) {
      const name = t.name();
      const { opened, open } = gate<string>();
      const called = gate();
      const thenable = { then: (resolve: (value: string) => void) => (called.open(), void opened.then(resolve)) };
      const request = t.locks.request(name, () => thenable);
      await called.opened;
      check(!(await t.isFree(name)), "it holds until the thenable resolves");
      open("then");
      same(await request, "then", "the result");
    },
  },
  {
    name: "what the callback throws is the rejection, whatever it is",
    async run(t) {
      for (const thrown of [new Error("work"), undefined, null, 0, "text"]) {
        const request = t.locks.request(t.name(), () => {
          throw thrown;
        });
        same(await rejection(request), thrown, "the reason");
      }
    },
  },
  {
    name: "a thenable that the callback throws is not waited for",
    async run(t) {
      let called = false;
      const thrown = { then: () => void (called = true) };
      const request = t.locks.request(t.name(), () => {
        throw thrown;
      });
      // Not by `await`, which would itself wait for the thenable.
      const isThrown = await request.then(
        () => false,
        (reason: unknown) => reason === thrown,
      );
      check(isThrown, "it rejects with the thenable itself");
      check(!called, "its then is not called");
    },
  },
  {
    name: "what the callback's promise rejects with is the rejection, whatever it is",
    async run(t) {
      for (const reason of [new Error("work"), undefined, null, false]) {
        same(await rejection(t.locks.request(t.name(), () => Promise.reject(reason))), reason, "the reason");
      }
    },
  },
  {
    name: "a callback that throws lets the lock go",
    async run(t) {
      const name = t.name();
      await rejection(
        t.locks.request(name, () => {
          throw new Error("work");
        }),
      );
      check(await t.isFree(name), "the name is free");
    },
  },
];

const calls: readonly Case[] = [
  {
    name: "the callback gets a lock with the name and the mode",
    async run(t) {
      const name = t.name();
      const told = ({ name: of, mode }: GrantedLock): unknown => ({ name: of, mode });
      same(await t.locks.request(name, told), { name, mode: "exclusive" }, "the lock");
      same(await t.locks.request(name, { mode: "exclusive" }, told), { name, mode: "exclusive" }, "the lock");
      same(await t.locks.request(name, { mode: "shared" }, told), { name, mode: "shared" }, "the lock");
    },
  },
  {
    name: "the callback gets the lock and nothing else",
    async run(t) {
      same(await t.locks.request(t.name(), (...args: unknown[]) => args.length), 1, "the number of arguments");
    },
  },
  {
    name: "the callback is not called before the request returns",
    async run(t) {
      const events = new Events();
      const request = t.locks.request(t.name(), () => events.add("callback"));
      events.add("returned");
      await request;
      events.are("returned", "callback");
    },
  },
  {
    name: "the callback is called once",
    async run(t) {
      let times = 0;
      await t.locks.request(t.name(), () => void (times += 1));
      await t.turn();
      same(times, 1, "the number of calls");
    },
  },
  {
    name: "the lock is held before the request resolves, and let go by then",
    async run(t) {
      const name = t.name();
      const events = new Events();
      await t.locks.request(name, async () => {
        events.add(`held ${(await t.seen(name)).held.length}`);
      });
      events.add(`returned ${(await t.seen(name)).held.length}`);
      events.are("held 1", "returned 0");
    },
  },
  {
    name: "the lock is held until the callback's promise resolves",
    async run(t) {
      const name = t.name();
      const holder = await t.held(name);
      const next = t.hold(name);
      await t.turn();
      check(!next.isGranted && !holder.isSettled, "the next one waits");
      holder.release("done");
      await next.granted;
      same(await holder.result, "done", "the result");
    },
  },
  {
    name: "the lock is held until the callback's promise rejects",
    async run(t) {
      const name = t.name();
      const { opened, open } = gate<Promise<never>>();
      const holder = t.locks.request(name, () => opened);
      const next = t.hold(name);
      await t.turn();
      check(!next.isGranted, "the next one waits");
      const error = new Error("work");
      open(Promise.reject(error));
      same(await rejection(holder), error, "the reason");
      await next.granted;
    },
  },
  {
    name: "the lock is held while work under it takes other locks",
    async run(t) {
      const outer = t.name("outer");
      const inner = t.name("inner");
      const result = await t.locks.request(outer, () =>
        t.locks.request(inner, async () => [(await t.seen(outer)).held.length, (await t.seen(inner)).held.length]),
      );
      same(result, [1, 1], "how many hold each");
    },
  },
];

export const callbackCases: readonly Case[] = [...results, ...calls];
