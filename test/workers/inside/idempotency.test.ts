import { env, exports } from "cloudflare:workers";
import { expect, test } from "vitest";
import { latchkey } from "../../../runtimes/workers.ts";
import { AttemptLostError, IdempotencyInProgressError } from "../../../src/client/idempotency.ts";
import { type Session, World } from "./world.ts";

const BYTES = Uint8Array.from({ length: 256 }, (_, i) => i);
let idLast = 0;

function ask(session: Session, frame: { t: string; key: string } & Record<string, unknown>): string {
  const id = `i${++idLast}`;
  session.send({ id, ...frame });
  return id;
}

function call(world: World, path: string, init: RequestInit): Promise<Response> {
  return exports.default.fetch(new Request(`http://localhost/v1/idempotency/${path}?space=${world.space}`, init));
}

test("a result is the same bytes over HTTP, by RPC and in a session", async () => {
  const world = new World();
  const { idempotency } = latchkey(env).locks(world.space);
  const begun = await idempotency.begin("pay", { fingerprint: "f" });
  if (begun.status !== "started") throw new Error("not started");
  await expect(idempotency.begin("pay", { fingerprint: "f" })).rejects.toThrow(IdempotencyInProgressError);
  await idempotency.complete("pay", begun.attempt, BYTES, "application/x-bytes");

  expect(await idempotency.begin("pay", { fingerprint: "f" })).toEqual({
    status: "replay",
    result: BYTES,
    contentType: "application/x-bytes",
    number: 1,
  });
  const response = await call(world, "pay/begin", { method: "POST", body: '{"fingerprint":"f"}' });
  expect(response.headers.get("idempotent-replayed")).toBe("true");
  expect(new Uint8Array(await response.arrayBuffer())).toEqual(BYTES);
  const session = await world.open();
  const id = ask(session, { t: "begin", key: "pay", fingerprint: "f" });
  expect(await session.next("replay", id)).toMatchObject({ encoding: "base64", type: "application/x-bytes" });
});

test("an attempt and those who wait for it live on while the object sleeps, in their order", async () => {
  const world = new World();
  const first = await world.open();
  const second = await world.open();
  const third = await world.open();
  const started = await first.next("started", ask(first, { t: "begin", key: "a", lease: 60_000 }));
  const wait = { t: "begin", key: "a", timeout: 60_000 };
  const secondId = ask(second, wait);
  await second.next("attempt_queued", secondId);
  const thirdId = ask(third, wait);
  await third.next("attempt_queued", thirdId);
  await world.sleep();

  first.send({ t: "fail", id: "f", key: "a", attempt: started.attempt });
  const next = await second.next("started", secondId);
  expect(next.number).toBe(2);
  await world.sleep();
  second.send({ t: "complete", id: "c", key: "a", attempt: next.attempt, result: "{}" });
  expect(await third.next("replay", thirdId)).toMatchObject({ result: "{}", number: 2 });
  expect(await world.rows("waiter")).toEqual([]);
});

test("a session's attempt is over at once when the object's process is gone, and its number goes on", async () => {
  const world = new World();
  const session = await world.open();
  await session.next("started", ask(session, { t: "begin", key: "a", lease: 60_000 }));
  await world.restart();

  const other = await world.open();
  expect((await other.next("started", ask(other, { t: "begin", key: "a" }))).number).toBe(2);
});

test("a caller's attempt outlives the object's process", async () => {
  const world = new World();
  const { idempotency } = latchkey(env).locks(world.space);
  const begun = await idempotency.begin("a");
  if (begun.status !== "started") throw new Error("not started");
  await world.restart();

  await idempotency.complete("a", begun.attempt, "1");
  await idempotency.complete("a", begun.attempt, "1");
  await expect(idempotency.fail("a", begun.attempt)).rejects.toThrow(AttemptLostError);
});

test("records that have expired are deleted by the alarm, also after a sleep", async () => {
  const world = new World();
  const { idempotency } = latchkey(env).locks(world.space);
  const begun = await idempotency.begin("a", { ttl: 1000 });
  if (begun.status !== "started") throw new Error("not started");
  await idempotency.complete("a", begun.attempt, "1");
  expect(await world.rows("record")).toHaveLength(1);
  await world.sleep();

  // It goes with its group, at a full minute: here the clock has to be told.
  await world.inside(async (ctx, instance) => {
    ctx.storage.sql.exec("UPDATE record SET expires = expires - 120000");
    instance.alarm();
  });
  await world.sleep();
  expect((await call(world, "a", { method: "GET" })).status).toBe(200);
  expect(await world.rows("record")).toEqual([]);
});

test("an object makes the tables of records with the first one", async () => {
  const world = new World();
  const session = await world.open();
  await session.acquire("a");
  await expect(world.rows("record")).rejects.toThrow("no such table");
  await world.sleep();

  expect(
    await latchkey(env)
      .locks(world.space)
      .idempotent("k", {}, () => 5),
  ).toBe(5);
});
