/** `query`: what is held and what waits, as plain objects of a moment. */

import { check, same } from "./check.ts";
import type { Case, Entry } from "./trial.ts";

const SHARED = { mode: "shared" };

export const snapshotCases: readonly Case[] = [
  {
    name: "query: held and pending are own lists of a plain object",
    async run(t) {
      const snapshot = await t.locks.query();
      same(Object.keys(snapshot).sort(), ["held", "pending"], "the members");
      check(Array.isArray(snapshot.held) && Array.isArray(snapshot.pending), "both are arrays");
      same(Object.getPrototypeOf(snapshot), Object.prototype, "the prototype");
    },
  },
  {
    name: "query: an entry has a name, a mode and a client as own members",
    async run(t) {
      const name = t.name();
      await t.held(name);
      t.hold(name, SHARED);
      await t.turn();
      const { held, pending } = await t.locks.query();
      for (const entry of [...held, ...pending].filter((one) => one.name === name)) {
        same(Object.keys(entry).sort(), ["clientId", "mode", "name"], "the members");
        same(typeof entry.clientId, "string", "the type of the client's id");
        check(entry.clientId.length > 0, "the client has an id");
      }
    },
  },
  {
    name: "query: a free name is in neither list",
    async run(t) {
      const name = t.name();
      same(await t.seen(name), { held: [], pending: [] }, "what is seen before");
      await t.locks.request(name, () => undefined);
      same(await t.seen(name), { held: [], pending: [] }, "what is seen after");
    },
  },
  {
    name: "query: a lock that is held shows with its mode",
    async run(t) {
      const exclusive = t.name();
      const shared = t.name();
      await t.held(exclusive);
      await t.held(shared, SHARED);
      same((await t.seen(exclusive)).held, ["exclusive"], "who holds");
      same((await t.seen(shared)).held, ["shared"], "who holds");
    },
  },
  {
    name: "query: a lock that is shared shows once for each holder",
    async run(t) {
      const name = t.name();
      await t.held(name, SHARED);
      await t.held(name, SHARED);
      same((await t.seen(name)).held, ["shared", "shared"], "who holds");
    },
  },
  {
    name: "query: those who wait for a name show in the order of their requests",
    async run(t) {
      const name = t.name();
      await t.held(name);
      for (const mode of ["shared", "exclusive", "exclusive", "shared"]) t.hold(name, { mode });
      await t.turn();
      same((await t.seen(name)).pending, ["shared", "exclusive", "exclusive", "shared"], "who waits");
    },
  },
  {
    name: "query: that order is one order across clients",
    needs: ["sessions"],
    async run(t) {
      const name = t.name();
      await t.held(name);
      for (const locks of [t.third, t.second, t.locks, t.third]) {
        t.hold(name, {}, locks);
        await t.turn();
      }
      const [first, second, third] = await ids(t.locks, t.second, t.third);
      const { pending } = await t.second.query();
      const waiting = pending.filter((entry) => entry.name === name).map(({ clientId }) => clientId);
      same(waiting, [third, second, first, third], "who waits");

      /** Each shows in its own snapshot by a lock that it holds. */
      async function ids(...all: readonly (typeof t.locks)[]): Promise<string[]> {
        const found: string[] = [];
        for (const locks of all) {
          const mine = t.name("mine");
          await t.held(mine, {}, locks);
          found.push((await locks.query()).held.find((entry) => entry.name === mine)?.clientId ?? "");
        }
        return found;
      }
    },
  },
  {
    name: "query: every client sees the same",
    async run(t) {
      const name = t.name();
      await t.held(name, {}, t.second);
      t.hold(name, SHARED, t.third);
      await t.turn();
      for (const locks of [t.locks, t.second, t.third]) {
        same(await t.seen(name, locks), { held: ["exclusive"], pending: ["shared"] }, "what is seen");
      }
    },
  },
  {
    name: "query: what one client holds and waits for shows with one id",
    async run(t) {
      const [a, b] = [t.name(), t.name()];
      await t.held(a);
      await t.held(b);
      t.hold(a);
      await t.turn();
      const { held, pending } = await t.locks.query();
      const found = [...held, ...pending].filter(({ name }) => name === a || name === b);
      same(found.length, 3, "the number of entries");
      same(new Set(found.map(({ clientId }) => clientId)).size, 1, "the number of clients");
    },
  },
  {
    name: "query: several clients show with an id each",
    needs: ["sessions"],
    async run(t) {
      const name = t.name();
      for (const locks of [t.locks, t.second, t.third]) await t.held(name, SHARED, locks);
      const { held } = await t.locks.query();
      const found = held.filter((entry) => entry.name === name);
      same(new Set(found.map(({ clientId }) => clientId)).size, 3, "the number of clients");
    },
  },
  {
    name: "query: two clients that wait for each other can be seen to",
    needs: ["sessions"],
    async run(t) {
      const [a, b] = [t.name("a"), t.name("b")];
      await t.held(a);
      await t.held(b, {}, t.second);
      t.hold(b);
      t.hold(a, {}, t.second);
      await t.turn();
      const { held, pending } = await t.third.query();
      const who = (entries: readonly Entry[], name: string): string | undefined =>
        entries.find((entry) => entry.name === name)?.clientId;
      check(who(held, a) !== undefined && who(held, a) !== who(held, b), "two clients hold");
      same([who(pending, a), who(pending, b)], [who(held, b), who(held, a)], "who waits for whom");
    },
  },
  {
    name: "query: a snapshot is of a moment, and another one is another object",
    async run(t) {
      const name = t.name();
      const holder = await t.held(name);
      const before = await t.locks.query();
      await holder.done();
      check(
        before.held.some((entry) => entry.name === name),
        "what was seen stays",
      );
      const after = await t.locks.query();
      check(after !== before && after.held !== before.held, "nothing is shared");
      check(!after.held.some((entry) => entry.name === name), "what is gone is gone");
    },
  },
  {
    name: "query: a lock that was stolen shows no more, and the thief's does",
    async run(t) {
      const name = t.name();
      const victim = await t.held(name, SHARED);
      await t.held(name, { steal: true });
      await victim.result.catch(() => undefined);
      same(await t.seen(name), { held: ["exclusive"], pending: [] }, "what is seen");
    },
  },
];
