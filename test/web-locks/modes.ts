/** Exclusive and shared: who holds together with whom, and in which order those who wait have their turn. */

import { check, Events, same } from "./check.ts";
import type { Case, Holding } from "./trial.ts";

const SHARED = { mode: "shared" };

const exclusive: readonly Case[] = [
  {
    name: "exclusive locks of a name are held one after the other, in the order of the requests",
    async run(t) {
      const name = t.name();
      const events = new Events();
      const works = [1, 2, 3, 4, 5].map((which) =>
        t.locks.request(name, async () => {
          events.add(`begin ${which}`);
          await t.turn();
          events.add(`end ${which}`);
        }),
      );
      await Promise.all(works);
      events.are(...[1, 2, 3, 4, 5].flatMap((which) => [`begin ${which}`, `end ${which}`]));
    },
  },
  {
    name: "that order holds across clients",
    async run(t) {
      const name = t.name();
      const holder = await t.held(name);
      const events = new Events();
      const works: Promise<unknown>[] = [];
      for (const [which, locks] of [t.second, t.third, t.locks, t.third, t.second].entries()) {
        works.push(locks.request(name, () => events.add(`${which}`)));
        await t.turn();
      }
      holder.release(undefined);
      await Promise.all(works);
      events.are("0", "1", "2", "3", "4");
    },
  },
  {
    name: "locks of other names do not wait for each other",
    async run(t) {
      const first = await t.held(t.name("a"));
      const second = await t.held(t.name("b"));
      check(!first.isSettled && !second.isSettled, "both are held");
    },
  },
  {
    name: "an exclusive lock of one client keeps another client out",
    async run(t) {
      const name = t.name();
      const holder = await t.held(name);
      const next = t.hold(name, {}, t.second);
      await t.turn();
      check(!next.isGranted, "it waits");
      holder.release(undefined);
      await next.granted;
    },
  },
  {
    name: "whoever holds a name and asks for it again waits like everybody else",
    async run(t) {
      const name = t.name();
      const holder = await t.held(name);
      const again = t.hold(name);
      await t.turn();
      check(!again.isGranted, "it waits for itself");
      check(!(await t.isFree(name)), "the name is not available to its own holder");
      await holder.done();
      await again.granted;
    },
  },
];

const shared: readonly Case[] = [
  {
    name: "shared locks are held together",
    async run(t) {
      const name = t.name();
      const holders = [await t.held(name, SHARED), await t.held(name, SHARED), await t.held(name, SHARED)];
      check(
        holders.every(({ isSettled }) => !isSettled),
        "all three hold",
      );
    },
  },
  {
    name: "shared locks of several clients are held together",
    async run(t) {
      const name = t.name();
      for (const locks of [t.locks, t.second, t.third]) await t.held(name, SHARED, locks);
      same(await t.seen(name), { held: ["shared", "shared", "shared"], pending: [] }, "what is seen");
    },
  },
  {
    name: "an exclusive lock waits for the last of the shared ones",
    async run(t) {
      const name = t.name();
      const holders = [await t.held(name, SHARED), await t.held(name, SHARED, t.second)];
      const writer = t.hold(name);
      await t.turn();
      check(!writer.isGranted, "it waits for two");
      await holders[0]?.done();
      await t.turn();
      check(!writer.isGranted, "it waits for one");
      await holders[1]?.done();
      await writer.granted;
    },
  },
  {
    name: "a shared lock waits for an exclusive one",
    async run(t) {
      const name = t.name();
      const writer = await t.held(name);
      const reader = t.hold(name, SHARED);
      await t.turn();
      check(!reader.isGranted, "it waits");
      await writer.done();
      await reader.granted;
    },
  },
  {
    name: "a shared lock does not overtake an exclusive one that waits",
    async run(t) {
      const name = t.name();
      const holder = await t.held(name, SHARED);
      const writer = t.hold(name);
      await t.turn();
      const reader = t.hold(name, SHARED, t.second);
      await t.turn();
      check(!writer.isGranted && !reader.isGranted, "both wait");
      await holder.done();
      await writer.granted;
      await t.turn();
      check(!reader.isGranted, "the reader waits for the writer");
      await writer.done();
      await reader.granted;
    },
  },
  {
    name: "when an exclusive lock ends, all shared ones behind it are granted at once",
    async run(t) {
      const name = t.name();
      const writer = await t.held(name);
      const readers = Array.from({ length: 5 }, () => t.hold(name, SHARED));
      await t.turn();
      await writer.done();
      await Promise.all(readers.map(({ granted }) => granted));
      same((await t.seen(name)).held.length, 5, "the number of holders");
    },
  },
  {
    name: "shared ones are granted up to the next exclusive one, and no further",
    async run(t) {
      const name = t.name();
      const first = await t.held(name);
      const readers = [t.hold(name, SHARED), t.hold(name, SHARED)];
      const writer = t.hold(name);
      const last = t.hold(name, SHARED);
      await t.turn();
      await first.done();
      await Promise.all(readers.map(({ granted }) => granted));
      await t.turn();
      check(!writer.isGranted && !last.isGranted, "those behind wait");
    },
  },
  {
    name: "five shared, one exclusive, five shared: each group has its turn",
    async run(t) {
      const name = t.name();
      const five = (): Holding[] => Array.from({ length: 5 }, () => t.hold(name, SHARED));
      const before = five();
      const writer = t.hold(name);
      const after = five();
      await Promise.all(before.map(({ granted }) => granted));
      const modes = (count: number): string[] => Array.from({ length: count }, () => "shared");
      same(await t.seen(name), { held: modes(5), pending: ["exclusive", ...modes(5)] }, "what is seen at first");
      for (const reader of before) reader.release(undefined);
      await writer.granted;
      same(await t.seen(name), { held: ["exclusive"], pending: modes(5) }, "what is seen then");
      writer.release(undefined);
      await Promise.all(after.map(({ granted }) => granted));
      same(await t.seen(name), { held: modes(5), pending: [] }, "what is seen at last");
    },
  },
  {
    name: "a holder of a shared lock that asks for the exclusive one waits for itself",
    async run(t) {
      const name = t.name();
      const reader = await t.held(name, SHARED);
      const writer = t.hold(name);
      await t.turn();
      check(!writer.isGranted, "it waits");
      await reader.done();
      await writer.granted;
    },
  },
];

export const modeCases: readonly Case[] = [...exclusive, ...shared];
