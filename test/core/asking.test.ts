import { describe, expect, test } from "vitest";
import { Engine, type Image, Outbox } from "../../src/core/index.ts";
import { lines, Space } from "./space.ts";

/** A holds k, and B, C and D wait for it. */
function queued(): Space {
  const space = new Space();
  for (const session of ["A", "B", "C", "D"]) space.open(session, 0, session === "C" ? '"carol"' : undefined);
  for (const session of ["A", "B", "C", "D"]) space.acquire(session, "1", "k");
  return space;
}

describe("asking for a key", () => {
  test("shows who asks, what and since when, in the order of the queue, whoever asked first", () => {
    const space = queued();
    space.now = 5;
    expect(lines(space.ask("C", "1", "please"))).toEqual(["C ask 1: asked"]);
    space.now = 9;
    space.ask("B", "1");
    expect(space.status("k").asks).toEqual([
      { session: "B", since: 9 },
      { session: "C", message: "please", meta: '"carol"', since: 5 },
    ]);
    const list = space.step({ kind: "list", from: "@", request: "list", prefix: "", countMax: 9 });
    expect(list).toMatchObject([{ keys: [{ key: "k", asks: [{ session: "B" }, { session: "C" }] }] }]);
  });

  test("is for a claim that waits: not for one that holds, is gone, or is somebody else's", () => {
    const space = queued();
    space.cancel("D", "1");
    for (const [from, claim] of [
      ["A", "1"],
      ["D", "1"],
      ["B", "2"],
      ["nobody", "1"],
    ] as const) {
      for (const withdraw of [false, true]) {
        const told = space.ask(from, claim, undefined, withdraw);
        expect(told).toEqual([{ kind: "refused", to: from, request: expect.any(String), code: "not_waiting" }]);
      }
    }
    expect(space.status("k")).not.toHaveProperty("asks");
  });

  test("in the same words again changes nothing; in other words it is asked anew", () => {
    const space = queued();
    space.ask("B", "1", "please");
    space.now = 7;
    space.ask("B", "1", "please");
    expect(space.status("k").asks).toEqual([{ session: "B", message: "please", since: 0 }]);
    space.ask("B", "1", "now");
    expect(space.status("k").asks).toEqual([{ session: "B", message: "now", since: 7 }]);
  });

  test("can be withdrawn, any number of times", () => {
    const space = queued();
    space.ask("B", "1");
    for (let i = 0; i < 2; i++) expect(space.ask("B", "1", undefined, true)).toMatchObject([{ kind: "asked" }]);
    expect(space.status("k")).not.toHaveProperty("asks");
  });

  test.each([
    ["its grant", (space: Space) => space.release("A", "k", "A/1")],
    ["its cancel", (space: Space) => space.cancel("B", "1")],
    ["the end of its session", (space: Space) => space.drop("B")],
    ["a hand-over to it", (space: Space) => space.hand("A", "k", "A/1", "B")],
  ])("is over with %s, and no later wait of the session has it", (_, leave) => {
    const space = queued();
    space.ask("B", "1");
    leave(space);
    expect(space.status("k")).not.toHaveProperty("asks");
    space.acquire("B", "2", "k");
    expect(space.status("k")).not.toHaveProperty("asks");
  });

  test("is over with a wait that times out", () => {
    const space = queued();
    space.acquire("B", "2", "l", { timeoutMs: 50 });
    space.acquire("@a", "1", "k", { timeoutMs: 50 });
    space.ask("@a", "1");
    expect(space.status("k").asks).toEqual([{ since: 0 }]);
    space.at(50);
    expect(space.status("k")).not.toHaveProperty("asks");
  });

  test("of 100 all are shown, of 101 those who are first in the queue", () => {
    const space = new Space();
    space.acquire("@a", "0", "k");
    for (let i = 1; i <= 101; i++) space.acquire("@a", `${i}`, "k", { meta: `${i}` });
    for (let i = 101; i > 1; i--) space.ask("@a", `${i}`);
    expect(space.status("k").asks?.map(({ meta }) => Number(meta))).toEqual(
      Array.from({ length: 100 }, (_, i) => i + 2),
    );
    space.ask("@a", "1");
    expect(space.status("k").asks?.map(({ meta }) => Number(meta))).toEqual(
      Array.from({ length: 100 }, (_, i) => i + 1),
    );
  });

  test("survives with the claim that it stands on", () => {
    const stored: Image = { claims: [], sessions: [] };
    const before = new Engine();
    const outbox = new Outbox();
    const acquire = { kind: "acquire", session: true, key: "k", mode: "exclusive" } as const;
    before.step({ kind: "open", session: "A", secret: "s", graceMs: 1000 }, 0, outbox);
    before.step({ ...acquire, from: "A", request: "1", newToken: "t1" }, 0, outbox);
    before.step({ ...acquire, from: "A", request: "2", newToken: "t2" }, 0, outbox);
    outbox.clear();
    before.step({ kind: "ask", from: "A", request: "3", claim: "2", message: "please" }, 3, outbox);
    expect(outbox.changes.slice(0, outbox.changeCount)).toMatchObject([
      { kind: "claim", claim: { ask: { since: 3 } } },
    ]);
    const [change] = outbox.changes;
    if (change?.kind !== "claim") throw new Error("nothing was stored");
    const after = new Space();
    const holder = { ...recordOf(change.claim), ticket: 1, state: "holding", fence: 1, ask: undefined } as const;
    const asked = { ...change.claim.asked, request: "1", newToken: "t1" };
    after.restore({ ...stored, claims: [{ ...holder, asked }, recordOf(change.claim)] });
    expect(after.status("k").asks).toEqual([{ message: "please", since: 3 }]);
  });
});

/** The members alone, as a store has them. */
function recordOf(claim: Image["claims"][number]): Image["claims"][number] {
  const { ticket, asked, session, state, deadline, fence, grantedAt, ttlMs, depth, outcome, by } = claim;
  const { nested, unnested, ask, abandoned } = claim;
  const record = { ticket, asked, session, state, deadline, fence, grantedAt, ttlMs, depth, outcome, by };
  return { ...record, nested, unnested, ask, abandoned };
}

describe("handing over", () => {
  test("grants the named session in the same step, past the queue, which goes on from there", () => {
    const space = queued();
    expect(lines(space.hand("A", "k", "A/1", "C"))).toEqual([
      "A 1: released",
      "C 1: granted",
      "A hand 1: released to 0",
    ]);
    expect(space.status("k")).toMatchObject({ holders: [{ session: "C" }], waiting: 2 });
    expect(lines(space.release("C", "k", "C/1", "x"))).toEqual(["C 1: released", "B 1: granted", "C x: released to 0"]);
  });

  test("goes to the first of the session's waits for this key", () => {
    const space = queued();
    space.acquire("C", "2", "k");
    space.acquire("C", "0", "l");
    expect(lines(space.hand("A", "k", "A/1", "C"))).toContain("C 1: granted");
  });

  test("ends the claim whatever its depth", () => {
    const space = queued();
    space.acquire("A", "2", "k", { token: "A/1", nest: true });
    expect(lines(space.hand("A", "k", "A/1", "D"))).toEqual([
      "A 1: released",
      "D 1: granted",
      "A hand 1: released to 0",
    ]);
  });

  test("to a session that does not wait for the key is refused, and the lock is kept", () => {
    const space = queued();
    space.open("E");
    space.acquire("E", "1", "l");
    space.acquire("B", "2", "l");
    for (const to of ["E", "A", "nobody"]) {
      expect(space.hand("A", "k", "A/1", to)).toEqual([
        { kind: "refused", to: "A", request: expect.any(String), code: "not_waiting", key: "k" },
      ]);
    }
    expect(space.status("k")).toMatchObject({ holders: [{ session: "A" }], waiting: 3 });
    // B waits for l as well, but its token is for k.
    expect(lines(space.hand("A", "l", "A/1", "B", "x"))).toEqual(["A x: refused unknown_token"]);
  });

  test("again is answered as a release again, and hands nothing over", () => {
    const space = queued();
    space.hand("A", "k", "A/1", "C", "x");
    for (const to of ["C", "B", "nobody"]) {
      expect(lines(space.hand("A", "k", "A/1", to, "x"))).toEqual(["A x: released to 0 already"]);
    }
    expect(lines(space.release("A", "k", "A/1", "y"))).toEqual(["A y: released to 0 already"]);
    expect(space.status("k").holders).toMatchObject([{ session: "C" }]);
  });

  test("of a lock that is lost is told so, and changes nothing", () => {
    const space = new Space();
    for (const session of ["A", "B", "C"]) space.open(session);
    space.acquire("A", "1", "k", { ttlMs: 100 });
    space.acquire("B", "1", "k");
    space.acquire("C", "1", "k");
    space.at(100);
    expect(lines(space.hand("A", "k", "A/1", "C", "x"))).toEqual(["A x: lost, expired"]);
    expect(space.status("k").holders).toMatchObject([{ session: "B" }]);
  });

  test("by somebody else who shows the token tells the owner who it was", () => {
    const space = queued();
    expect(space.hand("B", "k", "A/1", "B")[0]).toMatchObject({ kind: "ended", to: "A", by: { session: "B" } });
  });

  test("to a writer is refused while others hold the key as well", () => {
    const space = new Space();
    for (const session of ["A", "B", "C"]) space.open(session);
    space.acquire("A", "1", "k", { mode: "shared" });
    space.acquire("B", "1", "k", { mode: "shared" });
    space.acquire("C", "1", "k");
    expect(lines(space.hand("A", "k", "A/1", "C", "x"))).toEqual(["A x: refused shared_holders"]);
    expect(space.status("k")).toMatchObject({ holders: [{ session: "A" }, { session: "B" }], waiting: 1 });
    space.release("B", "k", "B/1");
    expect(lines(space.hand("A", "k", "A/1", "C", "y"))).toEqual([
      "A 1: released",
      "C 1: granted",
      "A y: released to 0",
    ]);
  });

  test("to a reader takes one place of a semaphore, also past a full one and a waiting writer", () => {
    const space = new Space();
    const shared = { mode: "shared", limit: 2 } as const;
    for (const session of ["A", "B", "C", "D"]) space.open(session);
    for (const session of ["A", "B", "C", "D"]) space.acquire(session, "1", "k", shared);
    expect(lines(space.hand("A", "k", "A/1", "D", "x"))).toEqual([
      "A 1: released",
      "D 1: granted",
      "A x: released to 0",
    ]);
    expect(space.status("k")).toMatchObject({ holders: [{ session: "B" }, { session: "D" }], waiting: 1 });
  });

  test("to a reader takes the readers at the head of the queue along", () => {
    const space = new Space();
    for (const session of ["A", "B", "C", "D"]) space.open(session);
    space.acquire("A", "1", "k");
    for (const session of ["B", "C", "D"]) space.acquire(session, "1", "k", { mode: "shared" });
    expect(lines(space.hand("A", "k", "A/1", "C"))).toEqual([
      "A 1: released",
      "C 1: granted",
      "B 1: granted",
      "D 1: granted",
      "A hand 1: released to 0",
    ]);
  });

  test("goes to a session that is away for its grace, and to none whose grace is over", () => {
    const space = queued();
    space.open("E", 100);
    space.acquire("E", "1", "k");
    space.drop("E");
    space.now = 99;
    expect(lines(space.hand("A", "k", "A/1", "E", "x"))).toContain("E 1: granted");
    expect(lines(space.at(100))).toEqual(["E 1: dropped", "E: session ended, dropped", "B 1: granted"]);
    expect(lines(space.hand("B", "k", "B/1", "E", "y"))).toEqual(["B y: refused not_waiting"]);
  });

  test("crosses a cancel: whichever comes first, the key has one owner", () => {
    const late = queued();
    late.hand("A", "k", "A/1", "C");
    expect(lines(late.cancel("C", "1"))).toEqual(["C 1: cancelled", "B 1: granted"]);
    const early = queued();
    early.cancel("C", "1");
    expect(lines(early.hand("A", "k", "A/1", "C", "x"))).toEqual(["A x: refused not_waiting"]);
    expect(early.status("k").holders).toMatchObject([{ session: "A" }]);
  });
});
