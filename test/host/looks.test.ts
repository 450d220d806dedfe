import { describe, expect, test } from "vitest";
import { Looks } from "../../src/host/looks.ts";
import { turnsOver } from "../../src/host/turns.ts";
import { VirtualTime } from "./support/time.ts";
import { World } from "./support/world.ts";

const TURNS = 2;
const THERE = { signal: new AbortController().signal };
const GONE = { signal: AbortSignal.abort() };

function quiet(): { readonly time: VirtualTime; readonly looks: Looks } {
  const time = new VirtualTime();
  return { time, looks: new Looks(time, TURNS) };
}

describe("a call is looked at before it is served", () => {
  test("when none was before it, and with it those that are read while its look is under way", async () => {
    const { time, looks } = quiet();
    const first = looks.lookAt(THERE);
    time.skip(1000);
    const second = looks.lookAt(THERE);
    expect([await first, await second]).toEqual([false, false]);
    expect(looks.lookAt(THERE)).toBeUndefined();
  });

  test("for 1 ms after the first, and then not for forty times as long", async () => {
    const { time, looks } = quiet();
    await looks.lookAt(THERE);
    time.skip(0.75);
    expect(await looks.lookAt(THERE)).toBe(false);
    time.skip(0.25);
    expect(looks.lookAt(THERE)).toBeUndefined();
    time.skip(39.75);
    expect(looks.lookAt(THERE)).toBeUndefined();
    time.skip(0.25);
    expect(await looks.lookAt(THERE)).toBe(false);
  });

  test("one in forty also where a look takes long: the rest is forty times as long", async () => {
    const { time, looks } = quiet();
    const first = looks.lookAt(THERE);
    time.skip(10);
    await first;
    time.skip(399.75);
    expect(looks.lookAt(THERE)).toBeUndefined();
    time.skip(0.25);
    expect(await looks.lookAt(THERE)).toBe(false);
  });

  test("for 100 ms after one whose caller was gone, and then anew", async () => {
    const { time, looks } = quiet();
    expect(await looks.lookAt(GONE)).toBe(true);
    time.skip(99.75);
    const last = looks.lookAt(THERE);
    expect(await last).toBe(false);
    time.skip(0.25);
    expect(await looks.lookAt(THERE)).toBe(false);
    time.skip(1);
    expect(looks.lookAt(THERE)).toBeUndefined();
  });

  test("never where a look takes no turns", () => {
    expect(new Looks(new VirtualTime(), 0).lookAt(GONE)).toBeUndefined();
  });

  test("for as many turns of the event loop as it takes to know", async () => {
    const { looks } = quiet();
    const hangUp = new AbortController();
    const look = looks.lookAt(hangUp);
    await turnsOver(TURNS - 1);
    hangUp.abort();
    expect(await look).toBe(true);
  });
});

describe("who hangs up right behind its request", () => {
  const looking = (): World => new World({}, undefined, { lookTurns: TURNS });
  const id = (request_id: string): object => ({ request_id, ttl: 60_000 });

  test("is granted nothing: whoever tries meanwhile has the key", async () => {
    const world = looking();
    const hangUp = new AbortController();
    const gone = world.acquire("k", id("r"), { signal: hangUp.signal });
    const tries = world.acquire("k", { timeout: 0 });
    await turnsOver(TURNS - 1);
    hangUp.abort();
    expect((await gone).status).not.toBe(200);
    expect((await tries).status).toBe(200);
    expect((await world.ask("GET", "/metrics")).text).toContain("latchkey_holding 1");
  });

  test("starts no attempt", async () => {
    const world = looking();
    const hangUp = new AbortController();
    const gone = world.ask("POST", "/v1/idempotency/k/begin", {}, { signal: hangUp.signal });
    await turnsOver(TURNS - 1);
    hangUp.abort();
    expect((await gone).status).not.toBe(201);
    expect((await world.ask("GET", "/v1/idempotency/k")).body).toMatchObject({ status: "none" });
  });

  test("and while the store is at work has its lock taken back, and its request id is fresh again", async () => {
    const world = looking();
    world.session().acquire("other");
    world.store.mode = "held";
    const hangUp = new AbortController();
    const gone = world.acquire("k", id("r"), { signal: hangUp.signal });
    await turnsOver(2 * TURNS);
    expect(world.store.held).toHaveLength(1);
    world.store.mode = "sync";
    world.store.finish();
    await turnsOver(1);
    hangUp.abort();
    expect((await gone).status).not.toBe(200);
    expect((await world.status("k")).body.status).toBe("free");
    expect((await world.acquire("k", id("r"))).status).toBe(200);
  });

  test("and asks again meanwhile has the lock that it was granted first", async () => {
    const world = looking();
    const hangUp = new AbortController();
    const gone = world.acquire("k", id("r"), { signal: hangUp.signal });
    await expect.poll(async () => (await world.status("k")).body.status as string, { interval: 0 }).toBe("held");
    const again = world.acquire("k", id("r"));
    hangUp.abort();
    const { body } = await again;
    await gone;
    expect((await world.status("k")).body.holders).toMatchObject([{ fence: body.fence }]);
  });
});
