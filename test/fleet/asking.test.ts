import { describe, expect, it } from "vitest";
import type { Command } from "../../src/core/index.ts";
import { acquiring, brief, Company, opening } from "./support/company.ts";
import { hasRedisServer } from "./support/redis-server.ts";
import { runnerOfSuite } from "./support/suite-runner.ts";

describe.skipIf(!hasRedisServer())("asking and handing over between processes", () => {
  const script = runnerOfSuite();

  /** `s` on process a holds the key; `t` on b, then `u` on c wait. */
  async function queued(graceMs = 0): Promise<Company> {
    const company = new Company(script.runner);
    await company.say("a", opening("s"), acquiring("s", "1"));
    await company.say("b", opening("t"), acquiring("t", "1"));
    await company.say("c", opening("u", graceMs), acquiring("u", "1"));
    return company;
  }

  it("the process of whoever is handed a lock hears of the grant, and nobody else's", async () => {
    const company = await queued();
    expect(brief(await company.say("a", handing("s", "1", "u")))).toEqual(["s 1 ended released", "s hand released"]);
    expect(brief(await company.say("c"))).toEqual(["u 1 granted"]);
    expect(brief(await company.say("b"))).toEqual([]);
    expect(brief(await company.say("a", handing("s", "1", "t")))).toEqual(["s hand released"]);
    expect(brief(await company.say("b"))).toEqual([]);
  });

  it("an ask is shown to every process, and counts from the one alone that the session is connected to", async () => {
    const company = await queued(1000);
    expect(await company.say("b", asking("u"))).toMatchObject([{ kind: "refused", code: "not_waiting" }]);
    expect(brief(await company.say("c", asking("u"), asking("u")))).toEqual(["u ask asked", "u ask asked"]);
    const asks = [{ session: "u", message: "may I?", since: company.now }];
    company.pass(5);
    expect(await company.say("a", status)).toMatchObject([{ kind: "status", waiting: 2, asks }]);
    await company.say("b", { kind: "resume", session: "u", secret: "secret of u" });
    expect(await company.say("c", { ...asking("u"), withdraw: true })).toMatchObject([
      { kind: "moved" },
      { code: "not_waiting" },
    ]);
    expect(await company.say("a", status)).toMatchObject([{ asks }]);
  });

  it("an ask is gone with the wait of a session whose process died, and its claim is handed nothing", async () => {
    const company = await queued();
    await company.say("c", asking("u"));
    await company.call("c", [], { leave: true });
    const [told, refused] = await company.say("a", status, handing("s", "1", "u"));
    expect(told).toMatchObject({ kind: "status", waiting: 1 });
    expect(told).not.toHaveProperty("asks");
    expect(refused).toMatchObject({ kind: "refused", code: "not_waiting" });
    expect(await script.runner.send("EXISTS", `${company.key}:a:key`)).toBe(0);
  });

  it("a session that is away for its grace is handed the lock, and learns so where it resumes", async () => {
    const company = await queued(1000);
    await company.say("c", { kind: "drop", session: "u" });
    await company.say("a", handing("s", "1", "u"));
    const [resumed] = await company.say("b", { kind: "resume", session: "u", secret: "secret of u" });
    expect(resumed).toMatchObject({ kind: "resumed", claims: [{ request: "1", key: "key", state: "holding" }] });
  });

  it("a hand-over is as many steps for Redis with 1000 who wait before the heir as with 10", async () => {
    const company = new Company(script.runner);
    const count = async (key: string, waiters: number): Promise<number> => {
      const [holder, crowd, heir] = [`${key}-s`, `${key}-t`, `${key}-u`];
      await company.say("a", opening(holder), opening(crowd), opening(heir), acquiring(holder, "1", { key }));
      for (let i = 0; i < waiters; i++) await company.say("a", acquiring(crowd, String(i), { key, timeoutMs: 1e6 }));
      await company.say("a", acquiring(heir, "1", { key }));
      await script.runner.send("CONFIG", "RESETSTAT");
      await company.say("a", { ...handing(holder, "1", heir), key });
      const stats = String(await script.runner.send("INFO", "commandstats"));
      return [...stats.matchAll(/cmdstat_\w+:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
    };
    expect(await count("many", 1000)).toBe(await count("few", 10));
  });
});

const status: Command = { kind: "status", from: "@o", request: "q", key: "key" };

function asking(from: string): Extract<Command, { kind: "ask" }> {
  return { kind: "ask", from, request: "ask", claim: "1", message: "may I?" };
}

function handing(from: string, request: string, to: string): Extract<Command, { kind: "hand" }> {
  return { kind: "hand", from, request: "hand", key: "key", token: `token of ${from} ${request}`, to };
}
