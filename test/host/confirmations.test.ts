/** Where nobody can see that a caller hung up while it waited, its grant stands when somebody says that the answer was taken. */

import { expect, test } from "vitest";
import { settle } from "./support/time.ts";
import { type FakeSocket, World } from "./support/world.ts";

const CONFIRM_MS = 5000;
const HIBERNATION = { pingPhaseMs: 0, confirmMs: CONFIRM_MS, returnMs: 5000, forgetEveryMs: 60_000 };

interface Granted {
  readonly world: World;
  readonly next: FakeSocket;
  /** Under which the grant of `k` to a caller that waited is to be confirmed. */
  readonly name: string;
}

/** A caller has waited and has the key; `next` waits behind it. */
async function granted(): Promise<Granted> {
  const world = new World({}, undefined, { hibernation: HIBERNATION });
  const [holder, next] = [world.session(), world.session()];
  const { token } = holder.acquire("k");
  const answer = world.host.fetch(world.request("POST", "/v1/latch/k/acquire", { ttl: 600_000 }));
  await settle();
  next.acquire("k");
  holder.say({ t: "release", id: "release", key: "k", token });
  return { world, next, name: world.host.unconfirmed(await answer)! };
}

function hasTurn(socket: FakeSocket): boolean {
  return socket.frames("granted").length > 0;
}

/** As the next host on the same store finds it. */
async function statusAfterwards(world: World): Promise<unknown> {
  const response = await world.restarted().fetch(world.request("GET", "/v1/latch/k"));
  return response.json();
}

test("a grant that is confirmed stays", async () => {
  const { world, next, name } = await granted();
  world.advance(CONFIRM_MS - 1);
  expect(world.host.confirm(name, true)).toBe(true);
  world.advance(CONFIRM_MS);
  expect(hasTurn(next)).toBe(false);
});

test("a confirmation whose answer was lost is told again, and the grant stands", async () => {
  const { world, next, name } = await granted();
  world.host.confirm(name, true);
  expect(world.host.confirm(name, true)).toBe(true);
  world.advance(CONFIRM_MS);
  expect(hasTurn(next)).toBe(false);
});

test("a grant that was confirmed by somebody who then could not tell of it is taken back", async () => {
  const { world, next, name } = await granted();
  world.host.confirm(name, true);
  world.host.confirm(name, false);
  await settle();
  expect(hasTurn(next)).toBe(true);
});

test("a grant whose answer nobody took is taken back at once, and the next has its turn", async () => {
  const { world, next, name } = await granted();
  expect(world.host.confirm(name, false)).toBe(false);
  await settle();
  expect(hasTurn(next)).toBe(true);
});

test("a grant of which nobody says anything is taken back when its time is over, and not before", async () => {
  const { world, next, name } = await granted();
  world.advance(CONFIRM_MS - 1);
  expect(hasTurn(next)).toBe(false);
  world.advance(1);
  expect(hasTurn(next)).toBe(true);
  // Who says so now must not tell of the grant.
  expect(world.host.confirm(name, true)).toBe(false);
  expect((await world.status("k")).body).toMatchObject({ waiting: 0, holders: [{ session: next.welcome.session }] });
});

test("grants to those who did not wait, however many, push none out that is still to be confirmed", async () => {
  const { world, next } = await granted();
  for (let other = 0; other < 1024; other++) await world.acquire(`other ${other}`);
  world.advance(CONFIRM_MS);
  expect(hasTurn(next)).toBe(true);
});

test("a drain waits until it is known what became of every grant", async () => {
  const { world, name } = await granted();
  const drained = world.host.drain();
  await settle();
  expect(world.store.isClosed).toBe(false);
  world.host.confirm(name, false);
  await drained;
  expect(await statusAfterwards(world)).toMatchObject({ status: "free" });
});

test("a drain does not wait for grants that are confirmed", async () => {
  const { world, name } = await granted();
  world.host.confirm(name, true);
  world.host.confirm(name, true);
  await world.host.drain();
  expect(await statusAfterwards(world)).toMatchObject({ status: "held" });
});

test("a drain waits no longer for it than a grant would last", async () => {
  const { world } = await granted();
  const drained = world.host.drain();
  await settle();
  world.advance(CONFIRM_MS);
  await drained;
  expect(await statusAfterwards(world)).toMatchObject({ status: "free" });
});
