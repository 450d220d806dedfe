import { describe, expect, test, vi } from "vitest";
import { type KeyState, LimitError, RefusedError, type Watch } from "../../src/client/index.ts";
import { partOf } from "../../src/protocol/spread.ts";
import { connected, type FarEnd, greet, held, scripted, type Scripted, welcome } from "./support/scripted-server.ts";
import { settle } from "./support/virtual-time.ts";

const FREE = { status: "free", holders: [], waiting: 0 } as const;

function heldBy(session: string, more: object = {}): object {
  return {
    status: "held",
    holders: [{ session, mode: "exclusive", fence: 7, since: 1_700_000_000, ...more }],
    waiting: 0,
  };
}

/** The server tells the state of keys. */
async function tell(end: FarEnd, id: string, keys: Record<string, object>, full?: boolean): Promise<void> {
  const entries = Object.entries(keys).map(([key, entry]) => ({ key, ...entry }));
  await end.say(JSON.stringify({ t: "state", id, keys: entries, ...(full === true && { full }) }));
}

async function watching(server: Scripted, watched: Parameters<Scripted["client"]["watch"]>[0] = "a") {
  const watch = server.client.watch(watched);
  await settle();
  const { id, ...asked } = server.end().one("watch");
  return { watch, id, asked };
}

/** Counts the changes, and what they told. */
function changes(watch: Watch): (readonly KeyState[])[] {
  const all: (readonly KeyState[])[] = [];
  watch.addEventListener("change", ({ detail }) => all.push(detail));
  return all;
}

describe("a watch of a key", () => {
  test("shows who holds it and how many wait, as the server tells", async () => {
    const server = await connected();
    const { watch, id, asked } = await watching(server);
    expect(asked).toEqual({ t: "watch", key: "a" });
    expect([watch.state, watch.isCurrent]).toEqual([undefined, false]);
    await tell(
      server.end(),
      id,
      { a: { ...heldBy("session-9", { meta: { colour: "red" }, expires_in: 500 }), waiting: 2 } },
      true,
    );
    expect(watch.isCurrent).toBe(true);
    expect(watch.state).toEqual({
      key: "a",
      status: "held",
      waiting: 2,
      holders: [
        {
          session: "session-9",
          mode: "exclusive",
          fence: 7,
          since: 1_700_000_000,
          meta: { colour: "red" },
          expiresIn: 500,
          isMe: false,
          isSameUser: false,
        },
      ],
    });
    await tell(server.end(), id, { a: FREE });
    expect(watch.state).toEqual({ key: "a", ...FREE });
    expect([...watch.states.keys()]).toEqual(["a"]);
  });

  test("says whether the holder is this session, or another one of the same user", async () => {
    const server = await connected({ user: "ada" });
    const { watch, id } = await watching(server);
    const seen = (): unknown[] => watch.state!.holders.map(({ isMe, isSameUser }) => [isMe, isSameUser]);
    await tell(server.end(), id, { a: heldBy("session-1", { user: "ada" }) }, true);
    expect(seen()).toEqual([[true, true]]);
    await tell(server.end(), id, { a: heldBy("session-2", { user: "ada" }) });
    expect(seen()).toEqual([[false, true]]);
    await tell(server.end(), id, { a: heldBy("session-3", { user: "bob" }) });
    expect(seen()).toEqual([[false, false]]);
  });

  test("the server knows better who is behind it, where an API key says that", async () => {
    const server = await connected({}, { user: "ada" });
    const { watch, id } = await watching(server);
    await tell(server.end(), id, { a: heldBy("session-2", { user: "ada" }) }, true);
    expect(watch.state!.holders[0]!.isSameUser).toBe(true);
  });

  test("nobody is the same user as a session without one", async () => {
    const server = await connected();
    const { watch, id } = await watching(server);
    await tell(server.end(), id, { a: heldBy("session-2") }, true);
    expect(watch.state!.holders[0]!.isSameUser).toBe(false);
  });

  test("shows the place of this client and who asks, when the server tells them", async () => {
    const server = await connected();
    const { watch, id } = await watching(server);
    const asks = [{ session: "session-2", message: "may I?", since: 1_700_000_001 }];
    await tell(server.end(), id, { a: { ...heldBy("session-1"), waiting: 1, position: 3, asks } }, true);
    expect(watch.state).toMatchObject({ position: 3, asks });
    await tell(server.end(), id, { a: heldBy("session-1") });
    expect(watch.state).not.toHaveProperty("position");
    expect(watch.state).not.toHaveProperty("asks");
  });

  test("is another object only when something changed", async () => {
    const server = await connected();
    const { watch, id } = await watching(server);
    const told = changes(watch);
    await tell(server.end(), id, { a: heldBy("session-2") }, true);
    const { state, states } = watch;
    expect(Object.isFrozen(state)).toBe(true);
    await tell(server.end(), id, { a: heldBy("session-2") }, true);
    expect(watch.state).toBe(state);
    expect(watch.states).toBe(states);
    expect(told).toEqual([[state]]);
    await tell(server.end(), id, { a: FREE });
    expect(watch.state).not.toBe(state);
    expect(told).toHaveLength(2);
  });

  test("tells those who subscribed, each as often as it subscribed, until they end it", async () => {
    const server = await connected();
    const { watch, id } = await watching(server);
    let calls = 0;
    const listener = (): void => void calls++;
    const stops = [watch.subscribe(listener), watch.subscribe(listener)];
    await tell(server.end(), id, { a: heldBy("session-2") }, true);
    expect(calls).toBe(2);
    stops[0]!();
    await tell(server.end(), id, { a: FREE });
    expect(calls).toBe(3);
  });
});

describe("a watch of a prefix", () => {
  test("shows the live keys, and tells of one that is gone once", async () => {
    const server = await connected();
    const { watch, id, asked } = await watching(server, { prefix: "doc:" });
    expect(asked).toEqual({ t: "watch", prefix: "doc:" });
    await tell(server.end(), id, { "doc:1": heldBy("session-2"), "doc:2": heldBy("session-3") }, true);
    expect(watch.state).toBeUndefined();
    expect([...watch.states.keys()]).toEqual(["doc:1", "doc:2"]);
    const told = changes(watch);
    await tell(server.end(), id, { "doc:1": FREE });
    expect([...watch.states.keys()]).toEqual(["doc:2"]);
    expect(told).toEqual([[{ key: "doc:1", ...FREE }]]);
  });

  test("takes what a later full state does not name for free", async () => {
    const server = await connected();
    const { watch, id } = await watching(server, { prefix: "" });
    await tell(server.end(), id, { a: heldBy("session-2"), b: heldBy("session-3") }, true);
    await server.end().drop();
    await server.time.advance(1_000);
    await server.end().open();
    await server.end().say(welcome({ session: "session-5" }));
    const again = server
      .end()
      .sent()
      .find((frame) => typeof frame !== "string" && frame["t"] === "watch") as { id: string };
    const told = changes(watch);
    await tell(server.end(), again.id, { b: heldBy("session-3") }, true);
    expect([...watch.states.keys()]).toEqual(["b"]);
    expect(told.flat()).toEqual([{ key: "a", ...FREE }]);
  });
});

test("what is gone from a prefix is told once, not again with a later full state", async () => {
  const server = await connected();
  const { watch, id } = await watching(server, { prefix: "" });
  await tell(server.end(), id, { a: heldBy("session-2"), b: heldBy("session-3") }, true);
  await tell(server.end(), id, { a: FREE });
  const told = changes(watch);
  await tell(server.end(), id, { b: heldBy("session-3") }, true);
  expect(told).toEqual([]);
});

describe("a full state of several frames", () => {
  function page(id: string, marks: object, ...keys: string[]): string {
    return JSON.stringify({ t: "state", id, keys: keys.map((key) => ({ key, ...heldBy("session-2") })), ...marks });
  }

  test("is shown with the last of them, and only what none of them names is free", async () => {
    const server = await connected();
    const { watch, id } = await watching(server, { prefix: "" });
    await server.end().say(page(id, { full: true, more: true }, "a"));
    expect([watch.isCurrent, watch.states.size]).toEqual([false, 0]);
    await server.end().say(page(id, { more: true }, "b"), page(id, {}, "c"));
    expect([watch.isCurrent, [...watch.states.keys()]]).toEqual([true, ["a", "b", "c"]]);
    const told = changes(watch);
    await server.end().say(page(id, { full: true, more: true }, "a"), page(id, {}, "c"));
    expect(told.flat()).toEqual([{ key: "b", ...FREE }]);
  });

  test("that breaks off is forgotten with its connection", async () => {
    const server = await connected();
    const { watch, id } = await watching(server, { prefix: "" });
    await server.end().say(page(id, { full: true, more: true }, "a"));
    await server.end().drop();
    await server.time.advance(1_000);
    await greet(server, { session: "session-3" });
    await settle();
    await server.end().say(page(server.end().one("watch").id, { full: true }, "b"));
    expect([...watch.states.keys()]).toEqual(["b"]);
  });
});

describe("the connection", () => {
  test("a watch waits for it", async () => {
    const server = await scripted();
    const watch = server.client.watch("a");
    await settle();
    await greet(server);
    await settle();
    expect(server.end().one("watch")["key"]).toBe("a");
    expect(watch.isCurrent).toBe(false);
  });

  test("a loss leaves what was shown, not current any more, and the next connection asks anew", async () => {
    const server = await connected({ user: "ada" });
    const { watch, id } = await watching(server);
    await tell(server.end(), id, { a: heldBy("session-1") }, true);
    const told = changes(watch);
    await server.end().drop();
    expect(watch.isCurrent).toBe(false);
    expect(watch.state!.holders[0]!.isMe).toBe(true);
    expect(told).toEqual([[]]);
    await server.time.advance(1_000);
    await greet(server, { session: "session-2" });
    await settle();
    const again = server.end().one("watch");
    expect(again["key"]).toBe("a");
    await tell(server.end(), again.id, { a: heldBy("session-1") }, true);
    expect(watch.isCurrent).toBe(true);
    expect(watch.state!.holders[0]!.isMe).toBe(false);
  });

  test("a server that is draining, or cannot serve now, is asked again", async () => {
    const server = await connected();
    const { watch, id } = await watching(server);
    const refused = { t: "refused", id, code: "unavailable", detail: "no store", retryable: true };
    await server.end().say(JSON.stringify(refused));
    expect(server.errors).toMatchObject([{ where: "watch" }]);
    await server.time.advance(1_000);
    const again = server.end().one("watch");
    await tell(server.end(), again.id, { a: FREE }, true);
    expect(watch.isCurrent).toBe(true);
  });

  test("the answer that it is asked for twice is no refusal", async () => {
    const server = await connected();
    const { watch, id } = await watching(server);
    await tell(server.end(), id, { a: FREE }, true);
    await server
      .end()
      .say(JSON.stringify({ t: "refused", id, code: "request_mismatch", detail: "twice", retryable: false }));
    expect([watch.isCurrent, server.errors]).toEqual([true, []]);
  });

  test("a watch of a client that is closed before it is welcomed ends, and is no error", async () => {
    const server = await scripted();
    const reading = Array.fromAsync(server.client.watch("a"));
    await settle();
    await server.end().open();
    await server.end().drop(4401);
    expect(await reading).toEqual([]);
  });

  test("a closed client ends its watches", async () => {
    const server = await connected();
    const { watch } = await watching(server);
    const reading = Array.fromAsync(watch);
    server.client.close().catch(() => undefined);
    expect(await reading).toEqual([]);
    expect(await Array.fromAsync(server.client.watch("b"))).toEqual([]);
  });
});

describe("the end of a watch", () => {
  test("is told to the server, and nothing is shown any more", async () => {
    const server = await connected();
    const { watch, id } = await watching(server);
    await tell(server.end(), id, { a: heldBy("session-2") }, true);
    watch.close();
    expect(server.end().one("unwatch")).toEqual({ t: "unwatch", id });
    expect(watch.isCurrent).toBe(false);
    const told = changes(watch);
    await tell(server.end(), id, { a: FREE });
    watch.close();
    expect(told).toEqual([]);
    expect(server.end().sent()).toEqual([]);
  });

  test("comes with the signal, also with one that has aborted before", async () => {
    const server = await connected();
    const controller = new AbortController();
    const watch = server.client.watch("a", { signal: controller.signal });
    await settle();
    server.end().one("watch");
    controller.abort();
    server.end().one("unwatch");
    expect(await Array.fromAsync(watch)).toEqual([]);
    server.client.watch("a", { signal: controller.signal });
    await settle();
    expect(server.end().sent()).toEqual([]);
  });

  test("comes with `using`", async () => {
    const server = await connected();
    {
      using _watch = server.client.watch("a");
      await settle();
      server.end().one("watch");
    }
    server.end().one("unwatch");
  });

  test("comes with a refusal, which whoever reads it and onError are told", async () => {
    const server = await connected();
    const { watch, id } = await watching(server);
    const reading = Array.fromAsync(watch);
    await server
      .end()
      .say(JSON.stringify({ t: "refused", id, code: "limit", detail: "too many", retryable: true, limit: "watches" }));
    await expect(reading).rejects.toThrow(LimitError);
    expect(server.errors).toMatchObject([{ error: { limit: "watches" }, where: "watch" }]);
    expect(server.end().sent()).toEqual([]);
  });
});

describe("reading a watch", () => {
  test("gives what is known, then each key's latest state, and skips what the reader was too slow for", async () => {
    const server = await connected();
    const { watch, id } = await watching(server, { prefix: "" });
    await tell(server.end(), id, { a: heldBy("session-2"), b: heldBy("session-3") }, true);
    const seen: string[] = [];
    let go!: () => void;
    const read = (async () => {
      for await (const { key, holders } of watch) {
        seen.push(`${key} ${holders[0]?.session}`);
        await new Promise<void>((resolve) => (go = resolve));
      }
    })();
    await settle();
    expect(seen).toEqual(["a session-2"]);
    for (const session of ["session-4", "session-5", "session-6"]) await tell(server.end(), id, { b: heldBy(session) });
    await tell(server.end(), id, { a: FREE });
    for (let turn = 0; turn < 2; turn++) {
      go();
      await settle();
    }
    expect(seen).toEqual(["a session-2", "b session-6", "a undefined"]);
    watch.close();
    go();
    await read;
  });

  test("a reader that leaves the loop leaves nothing behind, and the watch goes on until it is closed", async () => {
    const server = await connected();
    const { watch, id } = await watching(server);
    await tell(server.end(), id, { a: heldBy("session-2") }, true);
    const [add, remove] = [vi.spyOn(watch, "addEventListener"), vi.spyOn(watch, "removeEventListener")];
    for await (const state of watch) {
      expect(state).toBe(watch.state);
      break;
    }
    expect(add.mock.calls).toHaveLength(1);
    expect(remove.mock.calls).toEqual(add.mock.calls);
    expect(server.end().sent()).toEqual([]);
    await tell(server.end(), id, { a: FREE });
    expect([watch.isCurrent, watch.state?.status]).toEqual([true, "free"]);
  });

  test("two readers see the same", async () => {
    const server = await connected();
    const { watch, id } = await watching(server);
    const readers = [Array.fromAsync(watch), Array.fromAsync(watch)];
    await settle();
    await tell(server.end(), id, { a: heldBy("session-2") }, true);
    watch.close();
    const [one, two] = await Promise.all(readers);
    expect(one).toEqual(two);
    expect(one).toHaveLength(1);
  });
});

describe("a space that is spread", () => {
  const keys = ["a", "b", "c", "d", "e", "f"];

  test("a key is watched in its part", async () => {
    const server = await connected({}, { spread: 2, part: 0 });
    const key = keys.find((name) => partOf(name, 2) === 1)!;
    server.client.watch(key);
    await until(() => server.ends.length === 2);
    await greet(server, { spread: 2, part: 1 });
    expect(server.end().one("watch")["key"]).toBe(key);
    expect(server.end().url).toContain("part=1");
    expect(server.ends[0]!.sent()).toEqual([]);
  });

  test("a prefix is watched in all parts, whose keys make one map, current when all are", async () => {
    const server = await connected({}, { spread: 2, part: 0 });
    const watch = server.client.watch({ prefix: "" });
    await until(() => server.ends.length === 2);
    await greet(server, { spread: 2, part: 1, session: "session-2" });
    const ids = server.ends.map((end) => end.one("watch").id);
    await tell(server.ends[0]!, ids[0]!, { a: heldBy("session-1") }, true);
    expect(watch.isCurrent).toBe(false);
    await tell(server.ends[1]!, ids[1]!, { b: heldBy("session-2") }, true);
    expect(watch.isCurrent).toBe(true);
    expect([...watch.states.values()].map(({ key, holders }) => [key, holders[0]!.isMe])).toEqual([
      ["a", true],
      ["b", true],
    ]);
    // A full state is of its part alone.
    await tell(server.ends[1]!, ids[1]!, {}, true);
    expect([...watch.states.keys()]).toEqual(["a"]);
    watch.close();
    for (const end of server.ends) end.one("unwatch");
  });
});

describe("requestAccess", () => {
  test("names the acquire that waits, and resolves when the server has taken it", async () => {
    const server = await connected();
    server.client.acquire("a").catch(() => undefined);
    const claim = server.end().one("acquire").id;
    const asking = server.client.requestAccess("a", "may I?");
    await settle();
    const { id, ...frame } = server.end().one("request_access");
    expect(frame).toEqual({ t: "request_access", claim, message: "may I?" });
    await server.end().say({ t: "access_requested", id });
    expect(await asking).toBeUndefined();
    server.client.requestAccess("a", undefined, { withdraw: true }).catch(() => undefined);
    await settle();
    expect(server.end().one("request_access")).toMatchObject({ claim, withdraw: true });
  });

  test("without a claim that waits it is refused here, and when it has just been granted there", async () => {
    const server = await connected();
    await expect(server.client.requestAccess("a")).rejects.toMatchObject({ code: "not_waiting" });
    await held(server, "a");
    await expect(server.client.requestAccess("a")).rejects.toThrow(RefusedError);
    // Nor does one that is nested in what is held.
    server.client.acquire("a", { reentrant: true }).catch(() => undefined);
    server.end().one("acquire");
    await expect(server.client.requestAccess("a")).rejects.toThrow(RefusedError);
    expect(server.end().sent()).toEqual([]);
    server.client.acquire("a").catch(() => undefined);
    server.end().one("acquire");
    const asking = server.client.requestAccess("a");
    await settle();
    const { id } = server.end().one("request_access");
    await server.end().say({ t: "refused", id, code: "not_waiting" as never, detail: "it holds", retryable: false });
    await expect(asking).rejects.toMatchObject({ code: "not_waiting" });
  });

  test("is asked again for a claim that queues anew after a loss of the connection, unless it was withdrawn", async () => {
    const server = await connected();
    for (const key of ["a", "b"]) {
      server.client.acquire(key).catch(() => undefined);
      server.client.requestAccess(key, `${key}?`).catch(() => undefined);
    }
    server.client.requestAccess("b", undefined, { withdraw: true }).catch(() => undefined);
    await settle();
    for (const frame of server.end().sent() as { t: string; id: string }[]) {
      if (frame.t === "request_access") await server.end().say({ t: "access_requested", id: frame.id });
    }
    await server.end().drop();
    await server.time.advance(1_000);
    await greet(server, { session: "session-2" });
    const sent = server.end().sent() as { t: string; id: string; key?: string; claim?: string; message?: string }[];
    expect(sent.map(({ t, key, message }) => [t, key ?? message])).toEqual([
      ["acquire", "a"],
      ["request_access", "a?"],
      ["acquire", "b"],
    ]);
    expect(sent[1]!.claim).toBe(sent[0]!.id);
  });
});

async function until(isSo: () => boolean): Promise<void> {
  // The parts are loaded when there are any, by an import, which takes as long as it takes.
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 1));
  await settle();
}
