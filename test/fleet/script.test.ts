import { describe, expect, it } from "vitest";
import type { Command } from "../../src/core/index.ts";
import type { Begin } from "../../src/core/idempotency/command.ts";
import type { FleetEffect } from "../../src/fleet/script.ts";
import { acquiring, brief, Company, effectsOf, opening, releasing } from "./support/company.ts";
import { hasRedisServer } from "./support/redis-server.ts";
import { runnerOfSuite } from "./support/suite-runner.ts";

describe.skipIf(!hasRedisServer())("the script between processes", () => {
  const script = runnerOfSuite();

  describe("calls", () => {
    it("a call that is repeated is not carried out again, and says the same", async () => {
      const company = new Company(script.runner);
      await company.call("a", [opening("s")], { batch: 7 });
      const first = await company.call("a", [acquiring("s", "1")], { batch: 8, read: 1 });
      const again = await company.call("a", [acquiring("s", "2")], { batch: 8, read: 1 });
      expect(brief(effectsOf(first))).toEqual(["s 1 granted"]);
      expect(again.letters).toEqual(first.letters);
      expect(again.served).toBe(1);
    });

    it("a call that arrives after a later one is not carried out", async () => {
      const company = new Company(script.runner);
      await company.call("a", [opening("s")], { batch: 7 });
      const late = await company.call("a", [acquiring("s", "1")], { batch: 6 });
      expect(late.letters).toEqual([]);
      expect(brief(await company.say("a", acquiring("s", "2")))).toEqual(["s 2 granted"]);
    });

    it("letters come again until they are read, without gaps, and are then deleted", async () => {
      const company = new Company(script.runner);
      await company.call("a", [opening("s")], { read: 0 });
      await company.call("a", [acquiring("s", "1")], { read: 0 });
      const all = await company.call("a", [], { read: 0 });
      expect(all.letters.map(({ number }) => number)).toEqual([1, 2]);
      expect((await company.call("a", [], { read: 1 })).letters.map(({ number }) => number)).toEqual([2]);
      await company.call("a", [], { read: 2 });
      expect(await script.runner.send("EXISTS", `${company.key}:mail:a`)).toBe(0);
    });

    it("fences have all their digits", async () => {
      const company = new Company(script.runner);
      company.now = undefined;
      const before = fenceOf(await company.say("a", opening("s"), acquiring("s", "1")));
      const after = fenceOf(await company.say("a", releasing("s", "1"), acquiring("s", "2")));
      expect(before).toBeGreaterThan(Date.now() * 1000 - 60e6);
      expect(after).toBeGreaterThan(before);
      expect(await script.runner.send("HGET", company.key, "serial")).toBe(String(after));
    });

    it("what is too much for one call is left to the next one, which serves nothing before it", async () => {
      const company = new Company(script.runner, { workMax: 10 });
      const shared = { mode: "shared" } as const;
      await company.say("a", opening("s"), acquiring("s", "first"));
      const waiting = Array.from({ length: 25 }, (_, i) => acquiring("s", String(i), shared));
      for (const command of waiting) await company.say("a", command);
      const answer = await company.call("a", [
        releasing("s", "first"),
        { kind: "status", from: "@o", request: "q", key: "key" },
      ]);
      expect(answer.served).toBe(1);
      expect(answer.nextDeadline).toBe(answer.serverNow);
      const counts = [effectsOf(answer).filter(({ kind }) => kind === "granted").length];
      for (let call = await company.call("a", []); call.letters.length > 0; call = await company.call("a", [])) {
        counts.push(effectsOf(call).filter(({ kind }) => kind === "granted").length);
      }
      expect(counts.every((count) => count <= 10)).toBe(true);
      expect(counts.reduce((sum, count) => sum + count)).toBe(25);
      const [told] = await company.say("a", { kind: "status", from: "@o", request: "q", key: "key" });
      expect(told).toMatchObject({ kind: "status", waiting: 0 });
    });

    it("large pages come one in a call", async () => {
      const company = new Company(script.runner, { workMax: 10 });
      await company.say("a", opening("s"));
      for (let i = 0; i < 20; i++) await company.say("a", acquiring("s", String(i), { key: `key ${i}` }));
      const list: Command = { kind: "list", from: "@o", request: "q", prefix: "", countMax: 20 };
      const answer = await company.call("a", [list, list]);
      expect(answer.served).toBe(1);
      expect(effectsOf(answer)).toMatchObject([{ kind: "list", more: false }]);
    });

    it("a hand-off is as many steps for Redis with 1000 waiters as with 10", async () => {
      const company = new Company(script.runner);
      await company.say("a", opening("s"));
      const count = async (key: string, waiters: number): Promise<number> => {
        for (let i = 0; i <= waiters; i++)
          await company.say("a", acquiring("s", `${key} ${i}`, { key, timeoutMs: 1e6 }));
        await script.runner.send("CONFIG", "RESETSTAT");
        await company.say("a", releasing("s", `${key} 0`, key));
        const stats = String(await script.runner.send("INFO", "commandstats"));
        return [...stats.matchAll(/cmdstat_\w+:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
      };
      expect(await count("many", 1000)).toBe(await count("few", 10));
    });

    it("all keys of a space are in its hash slot", async () => {
      const company = new Company(script.runner);
      await company.say("a", opening("{x}", 1000), acquiring("{x}", "1"), acquiring("@y", "1"), beginning("@y", "2"));
      const keys = (await script.runner.send("KEYS", `*${company.space}*`)) as readonly string[];
      expect(keys.length).toBeGreaterThan(10);
      // Redis goes by what stands in the first pair of braces.
      expect(keys.filter((key) => !key.startsWith(company.key))).toEqual([]);
    });
  });

  describe("what Redis loses", () => {
    it("a space that was lost begins anew: another epoch, nobody known, fences higher than before", async () => {
      const company = new Company(script.runner);
      company.now = undefined;
      const before = await company.call("a", [opening("s"), acquiring("s", "1")]);
      const keys = (await script.runner.send("KEYS", `${company.key}*`)) as readonly string[];
      await script.runner.send("DEL", ...keys);
      const after = await company.call("a", [acquiring("s", "2")]);
      expect(after).toMatchObject({ standing: "unknown", served: 0, letters: [] });
      expect(after.epoch).not.toBe(before.epoch);
      const anew = await company.say("b", opening("t"), acquiring("t", "1"));
      expect(fenceOf(anew)).toBeGreaterThan(fenceOf(effectsOf(before)));
    });

    it("numbers rise also when only the latest writes were lost", async () => {
      const company = new Company(script.runner);
      company.now = undefined;
      const before = fenceOf(await company.say("a", opening("s"), acquiring("s", "1")));
      await script.runner.send("HSET", company.key, "serial", "5");
      expect(fenceOf(await company.say("a", releasing("s", "1"), acquiring("s", "2")))).toBeGreaterThan(before);
    });
  });

  describe("what is left", () => {
    it("a space that nobody uses is deleted three days later, with what it remembers, and stays while anybody does", async () => {
      const company = new Company(script.runner);
      company.now = undefined;
      const times = async (): Promise<readonly number[]> => {
        const keys = (await script.runner.send("KEYS", `${company.key}*`)) as readonly string[];
        return Promise.all(keys.map(async (key) => Number(await script.runner.send("PTTL", key))));
      };
      await company.say("a", opening("s"), acquiring("s", "1"), acquiring("@c", "1", { timeoutMs: 0 }));
      await company.say("a", { kind: "bye", session: "s" });
      await company.call("a", [], { leave: true });
      expect(await company.counts()).toEqual({ keys: 0, claims: 2, sessions: 0, processes: 0 });
      const left = await times();
      expect(left.length).toBe(6);
      expect(Math.min(...left)).toBeGreaterThan(71 * 3_600_000);
      expect(await company.say("b", acquiring("@c", "1", { timeoutMs: 0 }))).toMatchObject([
        { kind: "ended", again: true },
      ]);
      expect(new Set(await times())).toEqual(new Set([-1]));
    });

    it("a space where something is still held stays when the last process goes", async () => {
      const company = new Company(script.runner);
      company.now = undefined;
      await company.say("a", acquiring("@c", "1"));
      await company.call("a", [], { leave: true });
      expect(await script.runner.send("PTTL", company.key)).toBe(-1);
      expect(await company.say("b", acquiring("@c", "1"))).toMatchObject([{ kind: "granted" }]);
    });
  });

  describe("processes", () => {
    it("a process is known as long as its lease, counted from its latest call", async () => {
      const company = new Company(script.runner, { leaseMs: 1000 });
      await company.say("a", opening("s"));
      company.pass(999);
      expect((await company.call("a", [])).standing).toBe("known");
      company.pass(1000);
      expect(await company.call("a", [acquiring("s", "1")])).toMatchObject({ standing: "unknown", served: 0 });
      expect(await company.say("b", { kind: "status", from: "@o", request: "q", key: "key" })).toMatchObject([
        { holders: [] },
      ]);
    });

    it("the sessions of a process that died end, once, whoever calls next: waiting claims first, so that none of them is handed a key", async () => {
      const company = new Company(script.runner, { leaseMs: 1000 });
      const other = { key: "other" };
      await company.say("dead", opening("d1"), opening("d2"));
      await company.say("b", opening("s"));
      await company.say("dead", acquiring("d1", "1"), acquiring("d2", "1"), acquiring("d2", "2", other));
      await company.say("b", acquiring("s", "1"), acquiring("s", "2", other));
      company.pass(999);
      expect(await company.say("b")).toEqual([]);
      company.pass(1);
      expect(brief(await company.say("b"))).toEqual(["s 1 granted", "s 2 granted"]);
      expect(await company.say("c")).toEqual([]);
      expect(await company.counts()).toMatchObject({ sessions: 1, processes: 2 });
    });

    it("a grace counts from the end of the process's lease, and the session resumes elsewhere with its secret", async () => {
      const company = new Company(script.runner, { leaseMs: 1000 });
      await company.say("dead", opening("early", 500), opening("late", 500));
      await company.say("dead", acquiring("early", "1"), acquiring("late", "1", { key: "other" }));
      company.pass(1400);
      expect(await company.say("b", { kind: "resume", session: "late", secret: "secret of late" })).toMatchObject([
        { kind: "resumed", claims: [{ state: "holding", key: "other" }] },
      ]);
      company.pass(99);
      expect(brief(await company.say("b", acquiring("@c", "1")))).toEqual(["@c 1 queued"]);
      company.pass(1);
      expect(brief(await company.say("b"))).toEqual(["@c 1 granted"]);
    });

    it("a caller that waited on a process that died keeps its place on another one, under the same request", async () => {
      const company = new Company(script.runner, { leaseMs: 1000, returnMs: 500 });
      await company.say("b", opening("s"), acquiring("s", "1"));
      await company.say("dead", acquiring("@c", "1"));
      await company.say("b", acquiring("@d", "1"));
      company.pass(999);
      await company.say("b");
      company.pass(500);
      expect(await company.say("b", acquiring("@c", "1"))).toMatchObject([{ kind: "queued", position: 1 }]);
      company.pass(900);
      expect(brief(await company.say("b", releasing("s", "1")))).toEqual([
        "s 1 ended released",
        "@c 1 granted",
        "s release 1 released",
      ]);
    });

    it("one that does not come back leaves the queue, and what it was granted meanwhile is free again", async () => {
      const company = new Company(script.runner, { leaseMs: 1000, returnMs: 500 });
      const other = { key: "other" };
      await company.say("b", opening("s"), acquiring("s", "1"), acquiring("s", "2", other));
      await company.say("dead", acquiring("@c", "1"), acquiring("@c", "2", other));
      await company.say("b", acquiring("@d", "1"), acquiring("@d", "2", other));
      company.pass(999);
      await company.say("b");
      company.pass(1);
      expect(brief(await company.say("b", releasing("s", "1")))).toEqual([
        "s 1 ended released",
        "s release 1 released",
      ]);
      company.pass(499);
      expect(await company.say("b")).toEqual([]);
      company.pass(1);
      expect(brief(await company.say("b"))).toEqual(["@d 1 granted"]);
      expect(brief(await company.say("b", releasing("s", "2", "other")))).toEqual([
        "s 2 ended released",
        "@d 2 granted",
        "s release 2 released",
      ]);
    });

    it("what a caller was granted in a letter that its process never read is free again, what it has read stays", async () => {
      const company = new Company(script.runner, { leaseMs: 1000, returnMs: 500 });
      const other = { key: "other" };
      await company.say("b", opening("s"), acquiring("s", "1"), acquiring("s", "2", other));
      await company.say("dead", acquiring("@c", "1"), acquiring("@c", "2", other));
      await company.say("b", acquiring("@d", "1"), acquiring("@d", "2", other));
      await company.say("b", releasing("s", "1"));
      const { letters } = await company.call("dead", []);
      expect(letters).toMatchObject([{ isUnheard: true, effects: [{ kind: "granted", request: "1" }] }]);
      await company.call("dead", []);
      company.pass(900);
      await company.say("b", releasing("s", "2", "other"));
      company.pass(599);
      expect(await company.say("b")).toEqual([]);
      company.pass(1);
      expect(brief(await company.say("b"))).toEqual(["@d 2 granted"]);
      const [held] = await company.say("b", { kind: "status", from: "@o", request: "q", key: "key" });
      expect(held).toMatchObject({ waiting: 1, holders: [{ mode: "exclusive" }] });
    });

    it("whoever comes for such a grant elsewhere has it, and keeps it", async () => {
      const company = new Company(script.runner, { leaseMs: 1000, returnMs: 500 });
      await company.say("b", opening("s"), acquiring("s", "1"));
      await company.say("dead", acquiring("@c", "1"));
      await company.say("b", releasing("s", "1"));
      company.pass(1400);
      await company.call("b", []);
      expect(brief(await company.say("e", acquiring("@c", "1")))).toEqual(["@c 1 granted"]);
      company.pass(200);
      expect(await company.say("e", { kind: "status", from: "@o", request: "q", key: "key" })).toMatchObject([
        { holders: [{ mode: "exclusive" }] },
      ]);
    });

    it("begins of callers likewise: in the queue, and when they were started meanwhile", async () => {
      const company = new Company(script.runner, { leaseMs: 1000, returnMs: 500 });
      await company.say("b", beginning("@b", "1"));
      await company.say("dead", beginning("@c", "1"), beginning("@d", "1"));
      await company.say("b", beginning("@e", "1"));
      company.pass(999);
      await company.say("b");
      company.pass(1);
      const failing = { kind: "fail", from: "@b", request: "f", key: "work", attempt: "attempt of @b 1" } as const;
      expect(brief(await company.say("b", failing))).toEqual(["@b f failed"]);
      expect(await company.say("b", beginning("@d", "1"))).toMatchObject([{ kind: "attempt_queued", position: 1 }]);
      company.pass(500);
      expect(brief(await company.say("b"))).toEqual(["@d 1 started"]);
    });

    it("a process that goes ends at once", async () => {
      const company = new Company(script.runner);
      await company.say("going", opening("d"), acquiring("d", "1"));
      await company.say("b", acquiring("@c", "1"));
      await company.call("going", [], { leave: true });
      expect(brief(await company.say("b"))).toEqual(["@c 1 granted"]);
      expect((await company.call("going", [])).standing).toBe("unknown");
    });

    it("many sessions of a process that died end over several calls of several others, once, and nobody is granted before all of them have", async () => {
      const company = new Company(script.runner, { leaseMs: 1000, workMax: 10 });
      await company.say("b", opening("s"));
      for (let i = 0; i < 20; i++) {
        const key = `key ${i % 2}`;
        await company.say("dead", opening(`d${i}`), acquiring(`d${i}`, "1", { key }));
        if (i < 2) await company.say("b", acquiring("s", String(i), { key }));
      }
      company.pass(999);
      await company.say("b");
      company.pass(1);
      expect((await company.call("dead", [acquiring("d0", "2")])).standing).toBe("unknown");
      const told: string[] = [];
      let turns = 0;
      for (let done = false; !done; turns++) {
        // Whoever calls goes on with what the other one has begun.
        await company.call("c", []);
        const answer = await company.call("b", []);
        told.push(...brief(effectsOf(answer)));
        if (told.length > 0) expect(await company.counts()).toMatchObject({ sessions: 1, processes: 2 });
        done = answer.nextDeadline > answer.serverNow;
      }
      expect(turns).toBeGreaterThan(2);
      expect(told).toEqual(["s 0 granted", "s 1 granted"]);
    });
  });

  describe("sessions on several processes", () => {
    it("the newest connection wins: the process before is told, and its drop ends nothing", async () => {
      const company = new Company(script.runner);
      await company.say("old", opening("s", 1000), acquiring("s", "1"));
      const resuming: Command = { kind: "resume", session: "s", secret: "secret of s" };
      expect(brief(await company.say("new", resuming))).toEqual(["s resumed"]);
      expect(brief(await company.say("old", { kind: "drop", session: "s" }))).toEqual(["s moved"]);
      company.pass(2000);
      expect(brief(await company.say("old", { kind: "bye", session: "s" }, acquiring("s", "2")))).toEqual([
        "s 2 refused",
      ]);
      expect(brief(await company.say("new", releasing("s", "1")))).toEqual([
        "s 1 ended released",
        "s release 1 released",
      ]);
    });

    it("a caller that hangs up on one process after it has asked on another one still waits there", async () => {
      const company = new Company(script.runner);
      await company.say("b", opening("s"), acquiring("s", "1"));
      await company.say("old", acquiring("@c", "1"));
      await company.say("new", acquiring("@c", "1"));
      await company.say("old", { kind: "cancel", from: "@c", request: "1", forget: true });
      await company.say("b", releasing("s", "1"));
      expect(brief(await company.say("new"))).toEqual(["@c 1 granted"]);
    });
  });

  describe("records", () => {
    it("those that rest are left to Redis' expiry, those that run are not", async () => {
      const company = new Company(script.runner);
      company.now = undefined;
      await company.say("a", beginning("@c", "1"));
      const ttl = (name: string): Promise<unknown> => script.runner.send("PTTL", `${company.key}:${name}:work`);
      expect(await ttl("rec")).toBe(-1);
      const before = performance.now();
      await company.say("a", completing("@c", "1", new Uint8Array([1, 255])));
      for (const name of ["rec", "res"]) {
        const left = Number(await ttl(name));
        expect(left).toBeLessThanOrEqual(61_001);
        // It has had less time than has passed here.
        expect(left + performance.now() - before).toBeGreaterThan(60_900);
      }
      expect(await company.say("a", beginning("@d", "1"))).toMatchObject([
        { kind: "replay", result: new Uint8Array([1, 255]), contentType: "text/x" },
      ]);
    });

    it("large results come some mebibytes in a call", async () => {
      const company = new Company(script.runner);
      const results = Array.from({ length: 20 }, (_, i) => new Uint8Array(2 ** 20).fill(65 + i));
      const keys = results.map((_, i) => ({ key: `work ${i}` }));
      for (const [i, key] of keys.entries()) {
        await company.say("a", { ...beginning("@a", `${i}`), ...key });
        await company.say("a", { ...completing("@a", `${i}`, results[i]!), ...key });
      }
      let begins = keys.map((key, i) => ({ ...beginning("@b", `${i}`), ...key }));
      const served: number[] = [];
      while (begins.length > 0) {
        const answer = await company.call("b", begins);
        expect(effectsOf(answer).map(({ kind }) => kind)).toEqual(Array(answer.served).fill("replay"));
        served.push(answer.served);
        begins = begins.slice(answer.served);
      }
      expect(served).toEqual([8, 8, 4]);
    });

    it("a large result stands once in a letter, and is not published", async () => {
      const company = new Company(script.runner);
      const result = new Uint8Array(100_000).fill(120);
      await company.say("a", beginning("@a", "1"));
      for (let i = 0; i < 20; i++) await company.say("b", beginning("@b", String(i)));
      const heard: unknown[] = [];
      const stop = await script.runner.subscribe(`wake-${company.space}`, (wake) => heard.push(wake));
      await company.say("a", completing("@a", "1", result));
      await stop();
      expect(heard).toEqual([{ process: "b" }]);
      const size = Number(await script.runner.send("STRLEN", `${company.key}:res:work`));
      expect(Number(await script.runner.send("MEMORY", "USAGE", `${company.key}:mail:b`))).toBeLessThan(2 * size);
      const told = await company.say("b");
      expect(told).toHaveLength(20);
      for (const effect of told) expect(effect).toMatchObject({ kind: "replay", result });
    });
  });
});

function fenceOf(effects: readonly FleetEffect[]): number {
  const granted = effects.find(({ kind }) => kind === "granted");
  if (granted?.kind !== "granted") throw new Error("nothing was granted");
  return granted.fence;
}

function beginning(from: string, request: string): Begin {
  return {
    kind: "begin",
    from,
    request,
    session: false,
    key: "work",
    fingerprint: "f",
    ttlMs: 60_000,
    leaseMs: 30_000,
    waitMs: 20_000,
    newAttempt: `attempt of ${from} ${request}`,
  };
}

function completing(from: string, request: string, result: Uint8Array): Command {
  const attempt = `attempt of ${from} ${request}`;
  return {
    kind: "complete",
    from,
    request: `complete ${request}`,
    key: "work",
    attempt,
    result,
    contentType: "text/x",
  };
}
