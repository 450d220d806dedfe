/** `ifAvailable`: the lock at once, or null and nothing queued. */

import { check, rejection, same } from "./check.ts";
import type { Case, GrantedLock } from "./trial.ts";

const IF_AVAILABLE = { ifAvailable: true };
const IF_SHARED = { ifAvailable: true, mode: "shared" };
const SHARED = { mode: "shared" };

const isLock = (lock: unknown): boolean => lock !== null;

export const availableCases: readonly Case[] = [
  {
    name: "available: the callback gets the lock of a free name",
    async run(t) {
      const name = t.name();
      same(await t.locks.request(name, IF_AVAILABLE, (lock: GrantedLock) => lock.name), name, "the name");
    },
  },
  {
    name: "available: the callback gets null while somebody holds the name",
    async run(t) {
      const name = t.name();
      await t.held(name);
      same(await t.locks.request(name, IF_AVAILABLE, (lock: unknown) => lock), null, "the lock");
    },
  },
  {
    name: "available: so it is while another client holds it",
    async run(t) {
      const name = t.name();
      await t.held(name, {}, t.second);
      same(await t.locks.request(name, IF_AVAILABLE, (lock: unknown) => lock), null, "the lock");
    },
  },
  {
    name: "available: the request resolves with the result of a callback that got null",
    async run(t) {
      const name = t.name();
      await t.held(name);
      same(await t.locks.request(name, IF_AVAILABLE, () => "without"), "without", "the result");
      same(await t.locks.request(name, IF_AVAILABLE, async () => "later"), "later", "the result");
    },
  },
  {
    name: "available: the request rejects with what a callback throws that got null",
    async run(t) {
      const name = t.name();
      await t.held(name);
      const error = new Error("work");
      const request = t.locks.request(name, IF_AVAILABLE, () => {
        throw error;
      });
      same(await rejection(request), error, "the reason");
    },
  },
  {
    name: "available: the request rejects with what a callback's promise rejects with that got null",
    async run(t) {
      const name = t.name();
      await t.held(name);
      const error = new Error("work");
      same(await rejection(t.locks.request(name, IF_AVAILABLE, () => Promise.reject(error))), error, "the reason");
    },
  },
  {
    name: "available: it holds like any other lock",
    async run(t) {
      const name = t.name();
      const holder = await t.held(name, IF_AVAILABLE);
      const next = t.hold(name);
      await t.turn();
      check(!next.isGranted, "the next one waits");
      await holder.done();
      await next.granted;
    },
  },
  {
    name: "available: nothing is left in the queue when it is not",
    async run(t) {
      const name = t.name();
      const holder = await t.held(name);
      await t.locks.request(name, IF_AVAILABLE, isLock);
      same(await t.seen(name), { held: ["exclusive"], pending: [] }, "what is seen");
      await holder.done();
      check(await t.isFree(name), "the name is free");
    },
  },
  {
    name: "available: names that are held do not touch others",
    async run(t) {
      await t.held(t.name());
      same(await t.locks.request(t.name(), IF_AVAILABLE, isLock), true, "whether there is a lock");
    },
  },
  {
    name: "available: a shared lock beside shared ones",
    async run(t) {
      const name = t.name();
      await t.held(name, SHARED);
      same(await t.locks.request(name, IF_SHARED, isLock), true, "whether there is a lock");
    },
  },
  {
    name: "available: no exclusive lock beside shared ones",
    async run(t) {
      const name = t.name();
      await t.held(name, SHARED);
      same(await t.locks.request(name, IF_AVAILABLE, isLock), false, "whether there is a lock");
    },
  },
  {
    name: "available: no shared lock beside an exclusive one",
    async run(t) {
      const name = t.name();
      await t.held(name);
      same(await t.locks.request(name, IF_SHARED, isLock), false, "whether there is a lock");
    },
  },
  {
    name: "available: no shared lock beside shared ones when an exclusive one waits",
    async run(t) {
      const name = t.name();
      await t.held(name, SHARED);
      t.hold(name);
      await t.turn();
      same(await t.locks.request(name, IF_SHARED, isLock), false, "whether there is a lock");
    },
  },
  {
    name: "available: a lock that was let go before is available to the same client's next request",
    async run(t) {
      const name = t.name();
      for (let times = 0; times < 5; times++) {
        await t.locks.request(name, () => undefined);
        same(await t.locks.request(name, IF_AVAILABLE, isLock), true, "whether there is a lock");
      }
    },
  },
  {
    name: "available: a lock that was let go is available to another client once its request has settled",
    async run(t) {
      const name = t.name();
      for (let times = 0; times < 5; times++) {
        await t.locks.request(name, () => undefined);
        same(await t.second.request(name, IF_AVAILABLE, isLock), true, "whether there is a lock");
      }
    },
  },
  {
    name: "available: two at a time, and one has it",
    async run(t) {
      const name = t.name();
      const first = await t.held(name, IF_AVAILABLE);
      same(await t.locks.request(name, IF_AVAILABLE, isLock), false, "whether there is a second lock");
      await first.done();
    },
  },
];
