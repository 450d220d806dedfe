import { describe, expect, test } from "vitest";
import { World } from "./world.ts";

const FRAME_BYTES_MAX = 2 * 1024 * 1024;

describe("limits", () => {
  test("what a socket carries stays far below 16 384 bytes, whatever the names", async () => {
    const world = new World();
    const session = await world.open({ grace: 60_000, meta: "x".repeat(1000) });
    for (let i = 0; i < 50; i++) await session.acquire(`${"k".repeat(240)}-${i}`, { meta: "y".repeat(1000) });
    const bytes = await world.inside((ctx) =>
      ctx.getWebSockets().map((ws) => JSON.stringify(ws.deserializeAttachment()).length),
    );
    expect(bytes).toHaveLength(1);
    expect(bytes[0]).toBeLessThan(1024);
  });

  test("a socket more than an object can have is refused with a code that says so", async () => {
    const world = new World();
    await world.open();
    await world.inside((ctx) => {
      const { length } = Array.from({ length: 32_768 });
      ctx.getWebSockets = () => Array.from({ length });
    });
    await expect(world.connect()).rejects.toThrow(/^refused: 429 .*"limit":"sockets"/);
  });

  test("a frame past the limit closes 4413", async () => {
    const session = await new World().open();
    session.send(`{"t":"status","id":"a","key":"k","pad":"${"x".repeat(FRAME_BYTES_MAX)}"}`);
    expect((await session.closed).code).toBe(4413);
  });

  test("a name of 255 characters that no encoding has survives a sleep", async () => {
    const world = new World();
    const session = await world.open();
    const key = `\ud800${"\udfff".repeat(60)}`;
    const held = await session.acquire(key);
    await world.sleep();
    expect(await session.release(held)).toMatchObject({ depth: 0 });
  });
});

describe("when storage fails", () => {
  test("a caller is answered 503, sessions are closed for a clean retry, and nothing was granted", async () => {
    const world = new World();
    const session = await world.open();
    const held = await session.acquire("a");
    const restore = await world.inside((ctx) => {
      const exec = ctx.storage.sql.exec.bind(ctx.storage.sql);
      ctx.storage.sql.exec = () => {
        throw new Error("disk I/O error");
      };
      return () => {
        ctx.storage.sql.exec = exec;
      };
    });
    expect(await world.call("b/acquire", {})).toMatchObject({
      status: 503,
      body: { code: "unavailable", retryable: true },
    });
    expect((await session.closed).code).toBe(4500);
    expect(await world.call("a")).toMatchObject({ status: 503 });

    await world.inside(restore);
    expect((await world.call("b")).body).toMatchObject({ status: "free" });
    // Its session had no grace, and its socket is closed.
    expect((await world.call("a")).body).toMatchObject({ status: "free" });
    const again = await world.open();
    expect((await again.acquire("a")).fence).toBeGreaterThan(held.fence);
  });

  test("a transaction that fails half way leaves nothing behind", async () => {
    const world = new World();
    const session = await world.open({ grace: 30_000 });
    await session.acquire("a");
    await world.inside((ctx) => {
      const exec = ctx.storage.sql.exec.bind(ctx.storage.sql);
      let isFirst = true;
      ctx.storage.sql.exec = (query, ...values) => {
        if (!query.startsWith("INSERT INTO claim") || isFirst) {
          if (query.startsWith("INSERT INTO claim")) isFirst = false;
          return exec(query, ...values);
        }
        ctx.storage.sql.exec = exec;
        throw new Error("disk I/O error");
      };
    });
    const before = await world.rows("claim");
    // A theft is two changes: the holder's end and the thief's grant.
    expect(await world.call("a/acquire", { steal: true })).toMatchObject({ status: 503 });
    expect(await world.rows("claim")).toEqual(before);
  });
});

describe("inside an object", () => {
  test("no timer of the program runs: one that is set would keep it from sleeping", async () => {
    const world = new World();
    const session = await world.open();
    const real = globalThis.setTimeout;
    const timers: unknown[] = [];
    const ask = (path: string, body: object): Promise<{ readonly status: number; readonly body: Uint8Array }> =>
      world.object.ask({ method: "POST", path: `/v1/latch/${path}?space=${world.space}`, body: JSON.stringify(body) });
    globalThis.setTimeout = ((...args: unknown[]) => {
      timers.push(new Error("set here").stack);
      return real(...(args as Parameters<typeof setTimeout>));
    }) as typeof setTimeout;
    try {
      const first = JSON.parse(new TextDecoder().decode((await ask("a/acquire", {})).body)) as { token: string };
      const second = ask("a/acquire", {});
      const third = ask("a/acquire", { timeout: 200 });
      await ask("b/acquire", { ttl: 100 });
      expect((await third).status).toBe(408);
      await ask("a/release", { token: first.token });
      expect((await second).status).toBe(200);
    } finally {
      globalThis.setTimeout = real;
    }
    expect(timers).toEqual([]);
    await session.acquire("c");
  });
});
