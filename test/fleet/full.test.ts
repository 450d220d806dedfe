import { createClient } from "redis";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { serve } from "../../runtimes/node.ts";
import { connect } from "../../src/client/index.ts";
import type { Command } from "../../src/core/index.ts";
import { FleetError } from "../../src/fleet/error.ts";
import { divided } from "../../src/fleet/full.ts";
import type { RunningServer } from "../../src/options.ts";
import { Calm, later } from "../conformance/calm.ts";
import { acquiring, opening, releasing } from "./support/company.ts";
import { type Place, PLACES, startPlace } from "./support/places.ts";
import { hasRedisServer } from "./support/redis-server.ts";
import { ask, SpaceWorld, turn } from "./support/space.ts";

const FULL = new FleetError("full", "OOM");

describe("while Redis is full", () => {
  test("what frees, renews or looks goes on in its order; what stays is kept back, and what is about that with it", () => {
    const cancelling = (request: string): Command => ({ kind: "cancel", from: "s", request });
    const reentering = acquiring("s", "again", { token: "t" });
    const commands: readonly Command[] = [
      releasing("s", "old"),
      acquiring("s", "new"),
      cancelling("old"),
      cancelling("new"),
      opening("late"),
      { kind: "drop", session: "s" },
      { kind: "bye", session: "late" },
      reentering,
      acquiring("late", "1", { token: "t" }),
    ];
    const [release, acquire, cancelOld, cancelNew, open, drop, bye, reenter, late] = commands;
    expect(divided(commands)).toEqual({
      going: [release, cancelOld, drop, reenter],
      kept: [acquire, cancelNew, open, bye, late],
    });
  });

  test("the half that frees goes at once under a number of its own, the other when it may do better", async () => {
    const world = new SpaceWorld();
    await world.submit(ask("r"));
    await world.answer();
    await world.answer();
    await world.submit(acquiring("@c", "1"), releasing("@d", "1"));
    await world.fail(FULL);
    expect(world.lastCall.commands).toEqual([releasing("@d", "1")]);
    expect(world.lastCall.batch).toBe(world.calls.at(-2)!.batch + 1);
    await world.answer();
    await world.submit(releasing("@e", "1"));
    expect(world.lastCall.commands).toEqual([releasing("@e", "1")]);
    await world.answer();

    world.time.advance(1000);
    await turn();
    expect(world.lastCall.commands).toEqual([acquiring("@c", "1")]);
    await world.answer();
    await world.submit(acquiring("@f", "1"));
    expect(world.lastCall.commands).toEqual([acquiring("@f", "1")]);
  });

  test("a Redis that takes nothing at all is asked again at intervals", async () => {
    const world = new SpaceWorld();
    await world.submit(ask("r"));
    await world.answer();
    await world.answer();
    const before = world.calls.length;
    await world.submit(acquiring("@c", "1"), releasing("@d", "1"));
    await world.advance(500, () => world.fail(FULL));
    expect(world.calls.length - before).toBeLessThan(15);
    await world.advance(2000);
    expect(world.calls.slice(before).filter(({ commands }) => commands[0]?.kind === "acquire").length).toBeGreaterThan(
      0,
    );
    expect(world.underWay).toBe(undefined);
  });
});

describe.skipIf(!hasRedisServer()).each(PLACES)("a Redis that is full, %s", (kind) => {
  /** No stall of a busy machine is as long, and what is longer lasts long. */
  const LEASE_MS = 5000;
  const PATIENT = { timeout: 30_000, interval: 20 };
  let place: Place;
  let server: RunningServer;
  let admin: ReturnType<typeof createClient>;
  let prefixLast = 0;

  beforeAll(async () => {
    place = await startPlace(kind);
    admin = createClient({ url: place.server.url });
    await admin.connect();
  });
  beforeEach(async () => {
    // Nothing is left in it: a call that finds something to delete may be carried out by a Redis that is full as well.
    const prefix = `full-${++prefixLast}:`;
    const fleet = { redis: place.redis, leaseMs: LEASE_MS, prefix };
    server = await serve({ port: 0, fleet, onError: () => undefined });
  });
  afterEach(async () => {
    await admin.sendCommand(["CONFIG", "SET", "maxmemory", "0"]);
    await server?.close();
  });
  afterAll(async () => {
    admin?.destroy();
    await place?.[Symbol.asyncDispose]();
  });

  const calm = new Calm(4);
  calm.watch(() => [() => admin.sendCommand(["PING"])]);

  const post = (path: string, body: object): Promise<Response> =>
    fetch(`${server.url}/v1/latch/${path}`, { method: "POST", body: JSON.stringify(body) });

  test(
    "locks are released, end by themselves and pass on, leases of servers are renewed; what would stay is 503 until there is room",
    calm.options,
    async () => {
      const clients = [0, 1].map(() => connect(server.url.replace("http", "ws"), { onError: () => undefined }));
      onTestFinished(async () => void (await Promise.all(clients.map((client) => client.close()))));
      const [first, second] = clients as [(typeof clients)[0], (typeof clients)[0]];
      const [held, kept] = [await first.acquire("passed on"), await first.acquire("kept")];
      const waiting = later(second.acquire("passed on"));
      await vi.waitFor(async () => expect((await first.status("passed on")).waiting).toBe(1), PATIENT);
      const granted = await post("by%20http/acquire", { ttl: 60_000 });
      const { token } = (await granted.json()) as { readonly token: string };
      await post("expiring/acquire", { ttl: 2 * LEASE_MS });

      await admin.sendCommand(["CONFIG", "SET", "maxmemory", "1"]);
      const refused = later(post("new/acquire", { ttl: 5000, timeout: 0 }));
      await held.release();
      await waiting;
      expect(await (await post("by%20http/release", { token })).json()).toEqual({ status: "released" });
      expect((await refused).status).toBe(503);
      // Longer than the lease of the server: it would have been given up.
      await vi.waitFor(async () => expect((await first.status("expiring")).holders).toEqual([]), PATIENT);
      expect(kept.signal.aborted).toBe(false);
      expect((await fetch(`${server.url}/readyz`)).status).toBe(503);

      await admin.sendCommand(["CONFIG", "SET", "maxmemory", "0"]);
      await vi.waitFor(
        async () => expect((await post("new/acquire", { ttl: 5000, timeout: 0 })).status).not.toBe(503),
        PATIENT,
      );
      await kept.release();
    },
  );
});
