import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { type FleetClient, fleet } from "../../src/embedded-fleet.ts";
import { Calm } from "../conformance/calm.ts";
import { Child } from "../conformance/child.ts";
import { RUNTIMES } from "../conformance/runtimes.ts";
import { hasRedisServer } from "../fleet/support/redis-server.ts";
import { type Place, PLACES, startPlace } from "../fleet/support/places.ts";

const PROGRAM = fileURLToPath(new URL("./support/edge.ts", import.meta.url));
const LEASE_MS = 1000;
/** Nothing keeps a program from its end that has closed its fleet. */
const END_MAX_MS = 2000;
const PATIENT = { timeout: 10_000, interval: 20 };

/** Whoever stands still for longer than its lease is another one after that. */
const calm = new Calm(4);

describe.skipIf(!hasRedisServer()).each(PLACES)("programs with a fleet in them and Redis %s", calm.options, (kind) => {
  let place: Place;
  let other: FleetClient;

  beforeAll(async () => {
    place = await startPlace(kind);
    other = fleet({ redis: place.redis, prefix: "edge:", leaseMs: LEASE_MS });
  });
  afterAll(async () => {
    await other?.close();
    await place?.[Symbol.asyncDispose]();
  });

  calm.watch(() => [() => other.status("nothing")]);

  async function start(runtime: (typeof RUNTIMES)[number]): Promise<Child> {
    const { redis } = place;
    const where = typeof redis === "string" ? [redis] : [redis.url, redis.token];
    const child = new Child([...runtime.command.slice(0, -1), PROGRAM, `${LEASE_MS}`, "edge:", ...where]);
    onTestFinished(async () => void (await child.kill()));
    await child.printed(/^ready$/);
    return child;
  }

  /** What came of it. */
  async function told(child: Child, line: string): Promise<string> {
    child.writeLine(line);
    const [what, key] = line.split(" ");
    return (await child.printed(new RegExp(`^${what} ${key} .*$`))).slice(`${what} ${key} `.length);
  }

  const waiting = (key: string, count: number): Promise<void> =>
    vi.waitFor(async () => expect((await other.status(key)).waiting).toBe(count), PATIENT);

  test("one that is frozen past its lease goes on where it was", async () => {
    await Promise.all(RUNTIMES.map(freeze));
  });

  async function freeze(runtime: (typeof RUNTIMES)[number]): Promise<void> {
    const child = await start(runtime);
    const name = `frozen-on-${runtime.name}`;
    const [own, wanted] = [`${name}-own`, `${name}-wanted`];
    const fence = Number(await told(child, `acquire ${own} 5000`));
    const held = await other.acquire(wanted, { ttl: 60_000 });
    child.writeLine(`acquire ${wanted} 60000`);
    await waiting(wanted, 1);
    child.signal("SIGSTOP");
    await passed(2 * LEASE_MS);
    // A lock of a caller is held by its lease alone: nobody takes it for the program's.
    expect((await other.status(own)).holders).toMatchObject([{ fence }]);
    child.signal("SIGCONT");

    expect(await told(child, `extend ${own}`)).toBe("60000");
    expect(await told(child, `release ${own}`)).toBe("released");
    expect((await other.status(own)).holders).toEqual([]);
    await waiting(wanted, 1);
    await held.release();
    expect(Number((await child.printed(new RegExp(`^acquire ${wanted} \\d+$`))).split(" ")[2])).toBeGreaterThan(fence);
    expect(await told(child, `release ${wanted}`)).toBe("released");

    // Idle, as between two requests: it has left the space, or was given up there.
    child.signal("SIGSTOP");
    await passed(2 * LEASE_MS);
    child.signal("SIGCONT");
    expect(await told(child, `once ${name}`)).toBe("done");
    expect(Number(await told(child, `acquire ${own}-again 5000`))).toBeGreaterThan(fence);
  }

  test.each(RUNTIMES)(
    "one on $name that has closed it ends by itself, and who waited is sent away",
    async (runtime) => {
      const child = await start(runtime);
      const [wanted, own] = [`wanted-on-${runtime.name}`, `renewed-on-${runtime.name}`];
      const held = await other.acquire(wanted, { ttl: 60_000 });
      await told(child, `renew ${own} 5000`);
      child.writeLine(`acquire ${wanted} 60000`);
      await waiting(wanted, 1);
      expect(await told(child, "close it")).toBe("closed");
      const closedAt = performance.now();
      expect(await child.ended).toEqual({ code: 0, signal: null });
      expect(performance.now() - closedAt).toBeLessThan(END_MAX_MS);
      expect(child.output).toContain(`acquire ${wanted} SessionClosedError`);
      await waiting(wanted, 0);
      expect((await other.status(own)).holders).toHaveLength(1);
      await held.release();
    },
  );

  test("one that closed it is told so at once, whatever it asks", async () => {
    const edge = fleet({ redis: place.redis, prefix: "edge:", leaseMs: LEASE_MS });
    const held = await edge.acquire("late", { ttl: 60_000 });
    await edge.close();
    const before = performance.now();
    const late = [edge.tryAcquire("later"), held.release(), edge.status("late"), edge.idempotent("work", {}, () => 1)];
    for (const call of await Promise.allSettled(late)) {
      expect(call).toMatchObject({ status: "rejected", reason: { name: "SessionClosedError", retryable: false } });
    }
    expect(performance.now() - before).toBeLessThan(500);
    expect(held.signal.aborted).toBe(false);
    expect(await other.release("late", held.token)).toMatchObject({ depth: 0 });
  });

  test("a wait ends at its timeout, and at once when it is broken off; either leaves the queue", async () => {
    await using edge = fleet({ redis: place.redis, prefix: "edge:", leaseMs: LEASE_MS });
    const held = await other.acquire("left", { ttl: 60_000 });
    expect(await edge.tryAcquire("left")).toBe(null);
    await expect(edge.acquire("left", { timeout: 100 })).rejects.toMatchObject({ name: "LockTimeoutError" });
    await waiting("left", 0);
    const aborter = new AbortController();
    const broken = edge.acquire("left", { timeout: 60_000, signal: aborter.signal });
    await waiting("left", 1);
    aborter.abort(new Error("no more"));
    await expect(broken).rejects.toThrow("no more");
    await waiting("left", 0);
    await held.release();
  });
});

/** Time that must pass by itself: nothing happens that could be waited for. */
function passed(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
