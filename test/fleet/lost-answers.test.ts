import { Redis } from "@upstash/redis";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { serve } from "../../runtimes/node.ts";
import { fleet } from "../../src/embedded-fleet.ts";
import type { FleetChoices, RunningServer } from "../../src/options.ts";
import { openSession, type TestSocket } from "../conformance/socket.ts";
import { Middleman } from "./support/middleman.ts";
import { type Place, PLACES, startPlace } from "./support/places.ts";
import { hasRedisServer } from "./support/redis-server.ts";

const DEPTH = 12;
const ROUNDS = 8;

describe.skipIf(!hasRedisServer()).each(PLACES)(
  "Redis %s does what it is asked, and every other answer is lost",
  (kind) => {
    let place: Place;
    let middleman: Middleman;
    let redis: FleetChoices["redis"];
    let server: RunningServer;

    beforeAll(async () => {
      place = await startPlace(kind);
      const port = Number(new URL(typeof place.redis === "string" ? place.redis : place.redis.url).port);
      middleman = await Middleman.start(port);
      const url = (before: string): string => before.replace(`:${port}`, `:${middleman.port}`);
      redis = typeof place.redis === "string" ? url(place.redis) : { ...place.redis, url: url(place.redis.url) };
      server = await serve({ port: 0, fleet: { redis }, onError: () => undefined });
    });
    afterEach(() => {
      expect(middleman.lostCount).toBeGreaterThan(0);
    });
    afterAll(async () => {
      middleman.loses = 0;
      await server?.close();
      await middleman?.[Symbol.asyncDispose]();
      await place?.[Symbol.asyncDispose]();
    });

    const session = async (): Promise<TestSocket> => {
      const socket = await openSession(`${server.url.replace("http", "ws")}/v1/session`);
      onTestFinished(() => socket.terminate());
      return socket;
    };

    test("what counts is counted once, and each answer is told once", async () => {
      const [holder, next] = [await session(), await session()];
      middleman.loses = 2;
      const held = await holder.acquire("counted");
      const waiting = await next.queue("counted");
      for (let depth = 2; depth <= DEPTH; depth++) {
        const again = await holder.acquire("counted", { token: held.token, nest: true });
        expect(again).toMatchObject({ depth, fence: held.fence });
      }
      for (let depth = DEPTH - 1; depth >= 0; depth--) {
        const released = await holder.release(held);
        expect(released).toMatchObject({ depth });
        expect(released).not.toHaveProperty("already");
      }
      await next.release(await next.granted(waiting));
      for (const socket of [holder, next]) expect(await socket.unread()).toEqual([]);
    });

    test("a key goes from session to session in order, and work is done once", async () => {
      const sockets = await Promise.all([session(), session(), session()]);
      middleman.loses = 2;
      let fenceLast = 0;
      for (let round = 0; round < ROUNDS; round++) {
        const [first, ...others] = sockets.map((_, i) => sockets[(round + i) % sockets.length]!);
        let held = await first!.acquire("passed on");
        const queued = [];
        for (const socket of others) queued.push({ socket, waiting: await socket.queue("passed on") });
        let socket = first!;
        for (const next of queued) {
          expect(held.fence).toBeGreaterThan(fenceLast);
          fenceLast = held.fence;
          await socket.release(held);
          held = await next.socket.granted(next.waiting);
          socket = next.socket;
        }
        await socket.release(held);
      }
      const begun = { t: "begin", key: "work", timeout: 60_000 };
      const { attempt } = await sockets[0].ask(begun, "started");
      await sockets[1].ask({ ...begun, id: "waits" }, "attempt_queued");
      const completed = await sockets[0].ask({ t: "complete", key: "work", attempt, result: "done" }, "completed");
      expect(completed).not.toHaveProperty("already");
      await sockets[1].next("replay", "waits");
      for (const each of sockets) expect(await each.unread()).toEqual([]);
    });

    const testRest = kind === "over REST" ? test : () => undefined;
    testRest("also by a program whose own client sends each call again by itself", async () => {
      const { url, token } = redis as { readonly url: string; readonly token: string };
      const upstash = new Redis({ url, token, retry: { retries: 5, backoff: () => 5 } });
      middleman.loses = 2;
      await using edge = fleet({ redis: upstash });
      let fenceLast = 0;
      for (let round = 0; round < ROUNDS; round++) {
        const held = await edge.acquire("at the edge", { ttl: 60_000, timeout: 60_000 });
        expect(held.fence).toBeGreaterThan(fenceLast);
        fenceLast = held.fence;
        const inner = await edge.acquire("at the edge", { ttl: 60_000, reentrant: true });
        await inner.release();
        expect((await edge.status("at the edge")).holders).toMatchObject([{ fence: held.fence }]);
        await held.release();
        expect((await edge.status("at the edge")).holders).toEqual([]);
      }
      let runs = 0;
      for (let call = 0; call < 2; call++) expect(await edge.idempotent("work at the edge", {}, () => ++runs)).toBe(1);
    });
  },
);
