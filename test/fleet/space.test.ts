import { expect, test } from "vitest";
import type { Command } from "../../src/core/index.ts";
import { FleetError } from "../../src/fleet/error.ts";
import { AHEAD_MS, ask, LEASE_MS, RETRY_MS, SpaceWorld, status, turn } from "./support/space.ts";

/** One whose process Redis knows. */
async function joined(): Promise<SpaceWorld> {
  const world = new SpaceWorld();
  await world.submit(ask("r0"));
  await world.answer();
  await world.answer({ letters: [world.letter(status("r0"))] });
  world.told.length = 0;
  return world;
}

test("what one turn submits goes in one call, what is submitted while one is under way goes in the next", async () => {
  const world = await joined();
  await world.submit(ask("r1"), ask("r2"));
  await world.submit(ask("r3"));
  await world.submit(ask("r4"));

  expect(world.lastCall.commands).toEqual([ask("r1"), ask("r2")]);
  await world.answer();
  expect(world.lastCall.commands).toEqual([ask("r3"), ask("r4")]);
  expect(world.calls.map(({ batch }) => batch)).toEqual([1, 2, 3, 4]);
});

test("a call has at most 128 commands, and what it did not serve comes first in the next one", async () => {
  const world = await joined();
  const commands = Array.from({ length: 129 }, (_, i) => ask(`r${i + 1}`));
  await world.submit(...commands);
  await world.submit(ask("last"));
  expect(world.lastCall.commands).toEqual(commands.slice(0, 128));
  await world.answer({ served: 100 });

  expect(world.lastCall.commands).toEqual([...commands.slice(100), ask("last")]);
});

test("the results in a call are a mebibyte together, or one that has as much by itself", async () => {
  const world = await joined();
  const completing = (request: string, bytes: number): Command => ({
    kind: "complete",
    from: "@c",
    request,
    key: request,
    attempt: "a",
    result: new Uint8Array(bytes),
    contentType: "",
  });
  const [half, rest, over, whole] = [2 ** 19, 2 ** 19, 1, 2 ** 20].map((bytes, i) => completing(`r${i}`, bytes));
  await world.submit(half!, rest!, ask("between"), over!, whole!, ask("last"));
  expect(world.lastCall.commands).toEqual([half, rest, ask("between")]);
  await world.answer();
  expect(world.lastCall.commands).toEqual([over]);
  await world.answer();
  expect(world.lastCall.commands).toEqual([whole, ask("last")]);
});

test("a process joins until Redis has answered once, and gives up when it does not", async () => {
  const world = new SpaceWorld();
  await world.submit(ask("r1"));
  expect(world.lastCall).toMatchObject({ process: "p1", batch: 1, join: { channel: "wake" }, commands: [] });
  await world.fail();
  await world.advance(1000, () => world.fail());
  expect(world.lastCall).toMatchObject({ batch: 1, join: { channel: "wake" }, commands: [] });
  await world.advance(2999, () => world.fail());
  expect(world.told).toEqual([]);
  await world.advance(10, () => world.fail());

  expect(world.told).toEqual(["stopped"]);
  expect(world.left).toEqual(["over", "lost"]);
});

test("what is asked is sent when the process is known: a first call that arrives late does nothing but join", async () => {
  const world = new SpaceWorld();
  await world.submit(ask("r1"));
  await world.answer();

  expect(world.calls).toMatchObject([
    { batch: 1, join: { channel: "wake" }, commands: [] },
    { batch: 2, commands: [ask("r1")] },
  ]);
  expect(world.lastCall).not.toHaveProperty("join");
});

test("without an answer the same commands are sent again under the same number, until there is one", async () => {
  const world = await joined();
  await world.submit(ask("r1"));
  await world.fail();
  await world.submit(ask("r2"));
  await world.advance(500, () => world.fail());
  const repeats = world.calls.slice(3);
  expect(repeats.length).toBeGreaterThan(3);
  for (const call of repeats) expect(call).toMatchObject({ batch: 3, commands: [ask("r1")] });
  while (world.underWay === undefined) await world.advance(10, turn);
  await world.answer({ letters: [world.letter(status("r1"))] });

  expect(world.told).toEqual([status("r1")]);
  expect(world.lastCall).toMatchObject({ batch: 4, commands: [ask("r2")], read: 2 });
});

test("letters are opened once and in order, however they come", async () => {
  const world = await joined();
  const [two, three, four] = [status("a"), status("b"), status("c")].map((effect) => world.letter(effect));
  world.push(three);
  expect(world.told).toEqual([]);
  world.push(four);
  // What is missing is asked for at once.
  expect(world.lastCall).toMatchObject({ batch: 3, read: 1, commands: [] });
  await world.answer({ letters: [two!, three!] });
  world.push(two);
  world.push(four);

  expect(world.told).toEqual([status("a"), status("b"), status("c")]);
  expect(world.underWay).toBeUndefined();
});

test("an answer that left before the missing letter was written is followed by another call", async () => {
  const world = await joined();
  await world.submit(ask("r1"));
  world.letter();
  const three = world.letter(status("b"));
  world.push(three);
  await world.answer();
  expect(world.lastCall).toMatchObject({ batch: 4, commands: [] });

  await world.answer({ letters: [{ number: 2, effects: [status("a")] }, three] });
  expect(world.told).toEqual([status("a"), status("b")]);
});

test("a push that has no letter, or comes before the first answer, is fetched", async () => {
  const world = new SpaceWorld();
  await world.submit(ask("r1"));
  world.push(world.letter(status("early")));
  expect(world.told).toEqual([]);
  await world.answer();
  expect(world.lastCall).toMatchObject({ batch: 2, read: 0 });
  await world.answer({ letters: [{ number: 1, effects: [status("early")] }] });
  expect(world.told).toEqual([status("early")]);

  world.push();
  expect(world.lastCall).toMatchObject({ batch: 3, commands: [], read: 1 });
});

test("while somebody listens nothing is missing for longer than the retry interval", async () => {
  const world = await joined();
  const at: number[] = [];
  await world.advance(20_000, async () => {
    at.push(world.time.now());
    await world.answer();
  });
  const gaps = at.map((time, i) => time - (at[i - 1] ?? 1000.5));

  expect(Math.max(...gaps)).toBeLessThanOrEqual(RETRY_MS + 10);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(RETRY_MS * 0.75);
  // Now sooner, now later, so that servers which started together do not ask together.
  expect(new Set(gaps.map(Math.round)).size).toBeGreaterThan(3);
});

test("when nobody listens nothing is asked, and after a while the process leaves", async () => {
  const world = await joined();
  world.isVacant = true;
  await world.submit(ask("r1"));
  await world.answer();
  await world.advance(LEASE_MS / 3 - 20);
  expect(world.calls).toHaveLength(3);
  await world.advance(40);

  expect(world.lastCall).toMatchObject({ batch: 4, leave: true, commands: [] });
  expect(world.left).toEqual(["idle", "over"]);
  expect(world.told).toEqual([]);
});

test("a process that is cut off ends within nine tenths of a lease from when its last answered call was sent", async () => {
  const world = await joined();
  await world.submit(ask("r1"));
  const sentAt = world.time.now();
  world.time.skip(1500);
  await world.answer();
  expect(world.space.vouchedUntil).toBe(sentAt + LEASE_MS * 0.9);
  await world.advance(sentAt + LEASE_MS * 0.9 - world.time.now() - 10, () => world.fail());
  expect(world.told).toEqual([]);
  await world.advance(10, () => world.fail());

  expect(world.told).toEqual(["stopped"]);
  expect(world.left).toEqual(["over", "lost"]);
});

test.each(["a push", "an answer", "a command", "an unknown answer", "the wall clock"])(
  "after a freeze that outlasted the lease nothing is told from memory: %s",
  async (first) => {
    const world = await joined();
    await world.submit(ask("r1"));
    if (first === "the wall clock") {
      const leap = world.time.wall() + LEASE_MS;
      world.time.wall = () => leap;
    } else {
      world.time.skip(LEASE_MS * 0.9);
    }
    if (first === "an answer") await world.answer({ letters: [world.letter(status("r1"))] });
    else if (first === "an unknown answer") await world.answer({ standing: "unknown" });
    else if (first === "a command") await world.submit(ask("r2"));
    else world.push(world.letter(status("r1")));

    expect(world.told).toEqual(["stopped"]);
    expect(world.left).toEqual(["over", "lost"]);
    world.push(world.letter(status("late")));
    expect(world.told).toEqual(["stopped"]);
  },
);

test("a process that Redis does not know any more is over at once", async () => {
  const world = await joined();
  await world.submit(ask("r1"));
  await world.answer({ standing: "unknown", letters: [] });

  expect(world.told).toEqual(["stopped"]);
});

test.each(["Redis says so", "the lease is over"])(
  "a process that had nothing in the space begins anew when it is not known any more: %s",
  async (how) => {
    const world = await joined();
    world.isVacant = true;
    await world.submit(ask("r1"));
    await world.answer();
    if (how === "the lease is over") world.time.skip(LEASE_MS);
    world.isVacant = false;
    await world.submit(ask("r2"));
    if (how === "Redis says so") await world.answer({ standing: "unknown" });
    expect(world.lastCall).toMatchObject({ process: "p2", read: 0, join: { channel: "wake" }, commands: [] });
    await world.answer();
    expect(world.lastCall).toMatchObject({ process: "p2", commands: [ask("r2")] });
    await world.answer();
    expect(world.told).toEqual([]);

    // From now on it has.
    await world.submit(ask("r3"));
    await world.answer({ standing: "unknown" });
    expect(world.told).toEqual(["stopped"]);
  },
);

test("a process that had nothing in the space is over with its lease while a call is under way: that may still be carried out", async () => {
  const world = await joined();
  world.isVacant = true;
  await world.submit(ask("r1"));
  await world.answer();
  world.isVacant = false;
  await world.submit(ask("r2"));
  await world.advance(LEASE_MS * 0.9, () => world.fail());

  expect(world.told).toEqual(["stopped"]);
});

test("while Redis is away callers are told so after two seconds, and again; sessions wait", async () => {
  const world = await joined();
  const [call, drop]: Command[] = [ask("r1"), { kind: "drop", session: "s1" }];
  await world.submit(call!, drop!);
  await world.fail();
  await world.submit(ask("r2", "s1"));
  await world.advance(1990, () => world.fail());
  expect(world.unavailable).toEqual([]);
  await world.advance(20, () => world.fail());
  expect(world.unavailable).toEqual([call, drop, ask("r2", "s1")]);
  await world.advance(1000, () => world.fail());
  expect(world.unavailable).toHaveLength(6);

  expect(world.told).toEqual([]);
});

test("an answer that no Redis should give ends it: what is known here may be wrong", async () => {
  const world = await joined();
  await world.submit(ask("r1"));
  await world.fail(new FleetError("broken", "what is that"));

  expect(world.told).toEqual(["stopped"]);
});

test("the next deadline of the space is served soon after it, never before", async () => {
  const world = await joined();
  await world.submit(ask("r1"));
  const deadline = world.time.now() + 400;
  await world.answer({ nextDeadline: deadline + AHEAD_MS });
  const before = world.calls.length;
  let servedAt = 0;
  await world.advance(450, async () => {
    servedAt ||= world.time.now();
    await world.answer();
  });

  expect(world.calls).toHaveLength(before + 1);
  expect(servedAt).toBeGreaterThanOrEqual(deadline);
  expect(servedAt).toBeLessThanOrEqual(deadline + 20);
});

test("an instant of Redis seems to be here no later than it is there", async () => {
  const world = await joined();
  await world.submit(ask("r1"));
  const sentAt = world.time.now();
  world.time.skip(80);
  const expiresAt = sentAt + 5000 + AHEAD_MS;
  const granted = { kind: "extended", to: "@", request: "r1", key: "k", token: "t", fence: 1, ttlMs: 5000 } as const;
  // It was served at once, and its answer took all the time.
  await world.answer({ serverNow: sentAt + AHEAD_MS, letters: [world.letter({ ...granted, expiresAt })] });

  expect(world.told).toEqual([{ ...granted, expiresAt: sentAt + 5000 }]);
});

test("mail that a poll finds and no push told of shows that nobody hears the pushes", async () => {
  const world = await joined();
  const poll = async (): Promise<void> => world.advance(RETRY_MS + 10, () => world.answer(found()));
  let found = () => ({ letters: [world.letter(status("a"))] });
  await poll();
  found = () => ({ letters: [] as never[] });
  await world.advance(260);
  expect(world.unheardCount).toBe(1);

  const late = world.letter(status("b"));
  while (world.underWay === undefined) await world.advance(10, turn);
  await world.answer({ letters: [late] });
  await world.advance(240);
  world.push(late);
  await world.advance(260);
  expect(world.unheardCount).toBe(1);
});

test("a caller hears of a grant that others brought about when Redis knows that it is here, and what comes after it later", async () => {
  const world = await joined();
  const granted = world.letter(status("r1"));
  world.push({ ...granted, isUnheard: true });
  expect(world.lastCall).toMatchObject({ read: granted.number, commands: [] });
  world.push(world.letter(status("r2")));
  expect(world.told).toEqual([]);
  await world.answer({ letters: [{ ...world.letter(status("r3")), isUnheard: true }] });
  expect(world.told).toEqual([status("r1"), status("r2")]);
  await world.answer();

  expect(world.told).toEqual([status("r1"), status("r2"), status("r3")]);
});

test("when Redis does not know this process any more, nobody hears of such a grant", async () => {
  const world = await joined();
  await world.submit(ask("r0"));
  await world.answer();
  world.push({ ...world.letter(status("r1")), isUnheard: true });
  await world.answer({ standing: "unknown", served: 0 });

  expect(world.told).toEqual(["stopped"]);
});

test("another process has the session: it is told as moved, and nothing of it is translated", async () => {
  const world = await joined();
  world.push(world.letter({ kind: "moved", to: "s1" }));

  expect(world.told).toEqual([{ moved: "s1" }]);
});

test("whoever begins to wait makes the process listen", async () => {
  const world = await joined();
  expect(world.waitingCount).toBe(0);
  world.push(world.letter({ kind: "queued", to: "@", request: "r", key: "k", ticket: 1, position: 1 }));

  expect(world.waitingCount).toBe(1);
});

test("leaving says first what could not be said before", async () => {
  const world = await joined();
  await world.submit(ask("r1"));
  await world.fail();
  await world.submit(ask("r2"));
  const leaving = world.space.leave();
  await turn();
  expect(world.lastCall).toMatchObject({ batch: 3, commands: [ask("r1")] });
  await world.answer();
  expect(world.lastCall).toMatchObject({ batch: 4, leave: true, commands: [ask("r2")] });
  await world.answer();
  await leaving;

  expect(world.told).toEqual([]);
});
