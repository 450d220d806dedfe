import { describe, expect, test } from "vitest";
import { lines, Space } from "./space.ts";

describe("drop", () => {
  test("waiting claims leave before holdings end, so that the leaving session gets nothing", () => {
    const space = new Space();
    space.open("A");
    space.open("B");
    space.acquire("A", "held", "k");
    space.acquire("A", "waits behind itself", "k");
    space.acquire("B", "1", "k");
    expect(lines(space.drop("A"))).toEqual([
      "A waits behind itself: dropped",
      "A held: dropped",
      "A: session ended, dropped",
      "B 1: granted",
    ]);
  });

  test("all keys of the session are handed on in that step", () => {
    const space = new Space();
    space.open("A");
    space.open("B");
    for (const key of ["k", "l", "m"]) {
      space.acquire("A", key, key);
      space.acquire("B", key, key);
    }
    expect(lines(space.drop("A")).slice(-3)).toEqual(["B k: granted", "B l: granted", "B m: granted"]);
  });

  test("a second drop, or one of an unknown session, does nothing", () => {
    const space = new Space();
    space.open("A");
    space.drop("A");
    expect(space.drop("A")).toEqual([]);
    expect(space.drop("nobody")).toEqual([]);
  });

  test("its tokens are lost with the reason; its frames that come late are refused", () => {
    const space = new Space();
    space.open("A");
    space.acquire("A", "1", "k");
    space.drop("A");
    expect(lines(space.release("@x", "k", "A/1", "x"))).toEqual(["@x x: lost, dropped"]);
    expect(lines(space.acquire("A", "2", "k"))).toEqual(["A 2: refused session_ended"]);
  });

  test("a kept lock outlives its session and ends by its ttl or a release", () => {
    const space = new Space();
    space.open("A");
    space.acquire("A", "1", "k", { keep: true, ttlMs: 1000 });
    space.acquire("A", "2", "l", { keep: true, ttlMs: 1000 });
    expect(lines(space.drop("A"))).toEqual(["A: session ended, dropped"]);
    expect(space.status("k").holders[0]).not.toHaveProperty("session");
    expect(lines(space.release("@x", "l", "A/2", "x"))).toEqual(["A 2: released", "@x x: released to 0"]);
    expect(lines(space.at(1000))).toEqual(["A 1: expired"]);
  });

  test("a kept claim that still waits leaves with its session", () => {
    const space = new Space();
    space.acquire("@x", "1", "k");
    space.open("A");
    space.acquire("A", "1", "k", { keep: true, ttlMs: 1000 });
    expect(lines(space.drop("A"))).toEqual(["A 1: dropped", "A: session ended, dropped"]);
  });
});

describe("grace", () => {
  test("places and holdings stay until the grace ends, and not longer", () => {
    const space = new Space();
    space.open("A", 1000);
    space.open("B");
    space.acquire("A", "1", "k");
    space.acquire("B", "1", "k");
    expect(space.drop("A")).toEqual([]);
    expect(space.at(999)).toEqual([]);
    expect(lines(space.at(1000))).toEqual(["A 1: dropped", "A: session ended, dropped", "B 1: granted"]);
  });

  test("a resume in time shows all claims as they are now", () => {
    const space = new Space();
    space.open("A", 1000);
    space.acquire("@x", "1", "waits");
    space.acquire("@y", "1", "was granted meanwhile", { ttlMs: 500 });
    space.acquire("A", "holds", "k");
    space.acquire("A", "waits", "waits");
    space.acquire("A", "granted", "was granted meanwhile");
    space.acquire("A", "ended", "e", { ttlMs: 100 });
    space.drop("A");
    space.now = 900;
    const effects = space.resume("A").filter((effect) => effect.kind === "resumed");
    expect(effects).toMatchObject([
      {
        claims: [
          { request: "holds", state: "holding", token: "A/holds" },
          { request: "waits", state: "waiting", position: 1 },
          { request: "granted", state: "holding", token: "A/granted" },
          { request: "ended", state: "gone", outcome: "expired" },
        ],
      },
    ]);
    expect(lines(space.at(2000))).toEqual([]);
  });

  test("a wrong secret, an unknown and an ended session get the same answer", () => {
    const space = new Space();
    space.open("A", 1000);
    const refused = ["A: refused session_ended"];
    expect(lines(space.resume("A", "wrong"))).toEqual(refused);
    space.step({ kind: "bye", session: "A" });
    expect(lines(space.resume("A"))).toEqual(refused);
  });

  test("a resume of a session that is still connected takes it over", () => {
    const space = new Space();
    space.open("A", 1000);
    space.acquire("A", "1", "k");
    expect(space.resume("A")).toMatchObject([{ kind: "resumed", claims: [{ request: "1", state: "holding" }] }]);
  });

  test("bye ends the session at once, whatever its grace", () => {
    const space = new Space();
    space.open("A", 1000);
    space.acquire("@x", "1", "l");
    space.acquire("A", "1", "k");
    space.acquire("A", "2", "l");
    expect(lines(space.step({ kind: "bye", session: "A" }))).toEqual([
      "A 2: cancelled",
      "A 1: released",
      "A: session ended, bye",
    ]);
  });
});

describe("what is stored", () => {
  test("a plain session and its locks cost no write", () => {
    const space = new Space();
    space.open("A");
    expect(space.changes).toEqual([]);
    space.acquire("A", "1", "k");
    expect(space.changes).toEqual([]);
    space.drop("A");
    expect(space.changes).toEqual([]);
  });

  test("callers' locks, kept locks and sessions with a grace are, their waits only where somebody can come back", () => {
    const space = new Space();
    space.acquire("@x", "1", "k");
    expect(space.changes).toEqual(["claim 1 holding"]);
    space.acquire("@x", "2", "k");
    expect(space.changes).toEqual([]);
    space.open("A");
    space.acquire("A", "kept", "l", { keep: true, ttlMs: 1000 });
    expect(space.changes).toEqual(["claim kept holding"]);
    space.open("G", 1000);
    expect(space.changes).toEqual(["session G"]);
    space.acquire("G", "1", "k");
    expect(space.changes).toEqual(["claim 1 waiting"]);
  });

  test("with persist all everything that lives is", () => {
    const space = new Space({ persist: "all" });
    space.open("A");
    expect(space.changes).toEqual(["session A"]);
    space.acquire("A", "1", "k");
    expect(space.changes).toEqual(["claim 1 holding"]);
    space.acquire("@x", "1", "k");
    expect(space.changes).toEqual(["claim 1 waiting"]);
    space.drop("A");
    expect(space.changes).toEqual(["claim 1 gone", "session_gone", "claim 1 holding"]);
  });

  test("holders that did not outlive a restart make way for waiters that did", () => {
    const before = new Space();
    before.open("plain");
    before.open("graceful", 1000);
    before.acquire("plain", "1", "k");
    before.acquire("graceful", "1", "k");
    expect(before.changes).toEqual(["claim 1 waiting"]);
    const after = new Space({ serial: before.engine.serial });
    const effects = after.restore({
      sessions: [
        {
          id: "graceful",
          secret: "s",
          graceMs: 1000,
          meta: undefined,
          user: undefined,
          order: 2,
          deadline: Number.POSITIVE_INFINITY,
        },
      ],
      claims: [
        {
          ticket: 5,
          asked: {
            kind: "acquire",
            from: "graceful",
            request: "1",
            session: true,
            key: "k",
            mode: "exclusive",
            newToken: "t",
          },
          session: "graceful",
          state: "waiting",
          deadline: Number.POSITIVE_INFINITY,
          fence: 0,
          grantedAt: 0,
          ttlMs: undefined,
          depth: 0,
          outcome: undefined,
          by: undefined,
          nested: undefined,
          unnested: undefined,
          ask: undefined,
          abandoned: false,
        },
      ],
    });
    expect(lines(effects)).toEqual(["graceful 1: granted"]);
    expect(after.engine.serial).toBeGreaterThan(before.engine.serial);
  });
});
