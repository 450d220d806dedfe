import { describe, expect, onTestFinished, test, vi } from "vitest";
import { Departures } from "../../src/host/departures.ts";
import { FanOut } from "../../src/host/watch/fan-out.ts";
import { Space } from "../../src/host/space.ts";
import { settle } from "./support/time.ts";
import { type FakeSocket, type FrameOf, World } from "./support/world.ts";

type State = FrameOf<"state">;

/** The states that have come since the last look. */
async function states(socket: FakeSocket): Promise<State[]> {
  await settle();
  return socket.news().filter((frame): frame is State => frame.t === "state");
}

async function watching(world: World, target: object, id = "w"): Promise<{ socket: FakeSocket; first: State[] }> {
  const socket = world.session();
  socket.say({ t: "watch", id, ...target });
  return { socket, first: await states(socket) };
}

function gauge(text: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]);
}

describe("a watch of a key", () => {
  test("tells at once who holds it and how many wait, in full", async () => {
    const world = new World();
    const holder = world.session({ user: "ada", meta: { color: "red" } });
    holder.acquire("k");
    const { first } = await watching(world, { key: "k" });
    expect(first).toEqual([
      {
        t: "state",
        id: "w",
        full: true,
        keys: [
          {
            key: "k",
            status: "held",
            waiting: 0,
            holders: [
              {
                session: holder.welcome.session,
                user: "ada",
                mode: "exclusive",
                fence: expect.any(Number),
                since: expect.any(Number),
                meta: { color: "red" },
              },
            ],
          },
        ],
      },
    ]);
  });

  test("tells of a key that nobody uses that it is free", async () => {
    const { first } = await watching(new World(), { key: "k" });
    expect(first).toMatchObject([{ full: true, keys: [{ key: "k", status: "free", holders: [], waiting: 0 }] }]);
  });

  test("tells of a change at once when it has been quiet", async () => {
    const world = new World();
    const { socket } = await watching(world, { key: "k" });
    world.session().acquire("k");
    const [state] = await states(socket);
    expect(state).toMatchObject({ id: "w", keys: [{ status: "held" }] });
    expect(state).not.toHaveProperty("full");
  });

  test("tells of what changes soon after 50 ms after the last time, and not a ms sooner: the latest state, once", async () => {
    const world = new World();
    const { socket } = await watching(world, { key: "k" });
    const holder = world.session();
    for (let i = 0; i < 20; i++) {
      const { token } = holder.acquire("k", { meta: i });
      if (i === 0) await states(socket);
      if (i < 19) holder.ask({ t: "release", key: "k", token });
    }
    world.advance(49);
    expect(await states(socket)).toEqual([]);
    world.advance(1);
    expect(await states(socket)).toMatchObject([{ keys: [{ status: "held", holders: [{ meta: 19 }] }] }]);
    world.advance(1000);
    expect(await states(socket)).toEqual([]);
  });

  test("tells of each thing that a status shows, and of nothing else", async () => {
    const world = new World();
    const { socket } = await watching(world, { key: "k" });
    const holder = world.session();
    const other = world.session();
    const next = async (): Promise<State[]> => {
      world.advance(50);
      return states(socket);
    };
    const { token } = holder.acquire("k", { ttl: 1000 });
    expect(await next()).toMatchObject([{ keys: [{ holders: [{ expires_in: 950 }] }] }]);
    other.acquire("k", { id: "second" });
    expect(await next()).toMatchObject([{ keys: [{ waiting: 1 }] }]);
    holder.ask({ t: "extend", key: "k", token, ttl: 5000 });
    expect(await next()).toMatchObject([{ keys: [{ holders: [{ expires_in: 4950 }] }] }]);
    other.status("k");
    other.acquire("another");
    expect(await next()).toEqual([]);
    other.say({ t: "cancel", id: "second" });
    expect(await next()).toMatchObject([{ keys: [{ waiting: 0 }] }]);
    world.advance(5000);
    expect(await states(socket)).toMatchObject([{ keys: [{ status: "free" }] }]);
  });

  test("tells a session its own place in the queue, and no other session's", async () => {
    const world = new World();
    world.session().acquire("k");
    const first = world.session();
    const second = world.session();
    const { socket: third } = await watching(world, { key: "k" });
    for (const socket of [first, second]) {
      socket.acquire("k");
      socket.say({ t: "watch", id: "w", key: "k" });
    }
    await settle();
    expect((await states(first)).at(-1)?.keys).toMatchObject([{ waiting: 2, position: 1 }]);
    expect((await states(second)).at(-1)?.keys).toMatchObject([{ waiting: 2, position: 2 }]);
    expect((await states(third)).at(-1)?.keys[0]).not.toHaveProperty("position");
    first.drop();
    world.advance(50);
    expect((await states(second)).at(-1)?.keys).toMatchObject([{ waiting: 1, position: 1 }]);
  });

  test("tells whoever holds the key who asks for it, and nobody else, neither at first nor later", async () => {
    const world = new World();
    const [holder, asker, other] = [world.session(), world.session({ user: "bob" }), world.session()];
    const all = [holder, asker, other];
    const watchAll = (id: string, target: object): void => {
      for (const socket of all) socket.say({ t: "watch", id, ...target });
    };
    const asksTold = async (): Promise<unknown[][]> => {
      const told = await Promise.all(all.map((socket) => states(socket)));
      const asksOf = ({ id, keys }: State): unknown[] => [id, keys[0]?.asks?.map(({ message }) => message)];
      return told.map((frames) => frames.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(asksOf));
    };
    holder.acquire("k");
    asker.acquire("k", { id: "mine" });
    other.acquire("k");
    watchAll("key", { key: "k" });
    watchAll("prefix", { prefix: "" });
    await asksTold();
    asker.ask({ t: "request_access", claim: "mine", message: "may I?" });
    world.advance(50);
    const nobody = [
      ["key", undefined],
      ["prefix", undefined],
    ];
    const asked = [
      ["key", ["may I?"]],
      ["prefix", ["may I?"]],
    ];
    expect(await asksTold()).toEqual([asked, nobody, nobody]);
    for (const id of ["key", "prefix"]) for (const socket of all) socket.ask({ t: "unwatch", id });
    watchAll("key", { key: "k" });
    watchAll("prefix", { prefix: "" });
    expect(await asksTold()).toEqual([asked, nobody, nobody]);
  });

  test("tells a session that was resumed its place, though it queued up before", async () => {
    const world = new World();
    world.session().acquire("k");
    const before = world.session({ grace: 5000 });
    before.acquire("k");
    before.drop();
    const after = world.session({ resume: before.resume });
    after.say({ t: "watch", id: "w", key: "k" });
    expect((await states(after)).at(-1)?.keys).toMatchObject([{ position: 1 }]);
  });

  test("is refused under an id that watches already, and the first goes on", async () => {
    const world = new World();
    const { socket } = await watching(world, { key: "k" });
    expect(socket.ask({ t: "watch", id: "w", key: "l" })).toMatchObject({ t: "refused", code: "request_mismatch" });
    world.session().acquire("k");
    expect(await states(socket)).toMatchObject([{ id: "w", keys: [{ key: "k" }] }]);
  });

  test("may be of a key that is no well-formed text, and of the empty one", async () => {
    for (const key of ["\ud800", ""]) {
      const { first } = await watching(new World(), { key });
      expect(first).toMatchObject([{ keys: [{ key }] }]);
    }
  });

  test("names the key without the host's own prefix", async () => {
    const world = new World({ prefix: "app:" });
    const { socket, first } = await watching(world, { key: "k" });
    world.session().acquire("k");
    expect([...first, ...(await states(socket))]).toMatchObject([{ keys: [{ key: "k" }] }, { keys: [{ key: "k" }] }]);
  });

  test("does not see other spaces", async () => {
    const world = new World();
    const { socket } = await watching(world, { key: "k" });
    world.session({ space: "other" }).acquire("k");
    expect(await states(socket)).toEqual([]);
  });
});

describe("a watch of a prefix", () => {
  test("tells first all live keys that have it, then each that changes", async () => {
    const world = new World();
    const holder = world.session();
    for (const key of ["doc:1", "doc:2", "do"]) holder.acquire(key);
    const { socket, first } = await watching(world, { prefix: "doc:" });
    expect(first.map(({ full, keys }) => [full, keys.map(({ key }) => key)])).toEqual([[true, ["doc:1", "doc:2"]]]);
    holder.acquire("doc:3");
    holder.acquire("other");
    expect(await states(socket)).toMatchObject([{ keys: [{ key: "doc:3", status: "held" }] }]);
  });

  test("tells of the key that is the prefix itself", async () => {
    const world = new World();
    const holder = world.session();
    const { socket } = await watching(world, { prefix: "doc" });
    const { socket: all } = await watching(world, { prefix: "" });
    holder.acquire("doc");
    expect(await states(socket)).toMatchObject([{ keys: [{ key: "doc", status: "held" }] }]);
    await states(all);
    world.advance(50);
    holder.acquire("");
    expect(await states(all)).toMatchObject([{ keys: [{ key: "", status: "held" }] }]);
  });

  test("goes on when another one as long is over, and so does a key that begins so", async () => {
    const world = new World();
    const { socket } = await watching(world, { prefix: "doc:" });
    const { socket: other } = await watching(world, { prefix: "dog:" });
    const { socket: key } = await watching(world, { key: "doc:1" });
    other.ask({ t: "unwatch", id: "w" });
    const { token } = world.session().acquire("doc:1");
    expect(await states(socket)).toMatchObject([{ keys: [{ key: "doc:1", status: "held" }] }]);
    expect(await states(key)).toMatchObject([{ keys: [{ key: "doc:1", status: "held" }] }]);
    key.ask({ t: "unwatch", id: "w" });
    world.session().ask({ t: "release", key: "doc:1", token });
    world.advance(50);
    expect(await states(socket)).toMatchObject([{ keys: [{ key: "doc:1", status: "free" }] }]);
  });

  test("tells one frame without keys where there are none", async () => {
    const { first } = await watching(new World(), { prefix: "doc:" });
    expect(first).toEqual([{ t: "state", id: "w", keys: [], full: true }]);
  });

  test("tells once of a key that is gone: it is free", async () => {
    const world = new World();
    const holder = world.session();
    const { token } = holder.acquire("doc:1");
    const { socket } = await watching(world, { prefix: "doc:" });
    holder.ask({ t: "release", key: "doc:1", token });
    expect(await states(socket)).toEqual([
      { t: "state", id: "w", keys: [{ key: "doc:1", status: "free", holders: [], waiting: 0 }] },
    ]);
    world.advance(1000);
    expect(await states(socket)).toEqual([]);
  });

  test("does not tell of a key that came and went between two states", async () => {
    const world = new World();
    const holder = world.session();
    const { socket } = await watching(world, { prefix: "" });
    const { token } = holder.acquire("a");
    holder.ask({ t: "release", key: "a", token });
    expect(await states(socket)).toEqual([]);
  });

  test("tells the places of the session that watches", async () => {
    const world = new World();
    world.session().acquire("a");
    const waiter = world.session();
    waiter.acquire("a");
    waiter.say({ t: "watch", id: "w", prefix: "" });
    expect(await states(waiter)).toMatchObject([{ keys: [{ key: "a", position: 1 }] }]);
  });

  test.each([
    [100, [100]],
    [101, [100, 1]],
    [1000, Array.from({ length: 10 }, () => 100)],
  ])(
    "tells %i keys in frames of at most 100, the first of them full, all but the last with more",
    async (count, sizes) => {
      const world = new World();
      const holder = world.session();
      for (let i = 0; i < count; i++) holder.acquire(`k${i}`);
      const { first } = await watching(world, { prefix: "k" });
      expect(first.map(({ keys }) => keys.length)).toEqual(sizes);
      expect(first.map(({ full }) => full === true)).toEqual(sizes.map((_, i) => i === 0));
      expect(first.map(({ more }) => more === true)).toEqual(sizes.map((_, i) => i < sizes.length - 1));
    },
  );

  test("is refused with more than 1 000 live keys, and leaves nothing behind", async () => {
    const world = new World();
    const holder = world.session();
    for (let i = 0; i < 1001; i++) holder.acquire(`k${i}`);
    const socket = world.session();
    socket.say({ t: "watch", id: "w", prefix: "k" });
    await settle();
    expect(socket.news().at(-1)).toMatchObject({ t: "refused", id: "w", code: "limit", limit: "watched_keys" });
    expect(gauge((await world.ask("GET", "/metrics")).text, "latchkey_watches")).toBe(0);
    holder.acquire("k1001");
    expect(await states(socket)).toEqual([]);
  });

  test.each([
    ["neither a key nor a prefix", {}],
    ["both", { key: "k", prefix: "k" }],
    ["a key that is too long", { key: "x".repeat(256) }],
    ["a prefix that is too long", { prefix: "x".repeat(256) }],
  ])("is refused with %s", async (_, target) => {
    const world = new World();
    const refused = world.session().ask({ t: "watch", id: "w", ...target });
    expect(refused).toMatchObject({ t: "refused", id: "w", retryable: false });
  });
});

describe("what is watched", () => {
  test("by one session is 100 at most, and one more when another is over", async () => {
    const world = new World();
    const socket = world.session();
    for (let i = 0; i < 100; i++) socket.say({ t: "watch", id: `w${i}`, key: "k" });
    expect(socket.ask({ t: "watch", id: "w100", key: "k" })).toMatchObject({ code: "limit", limit: "watches" });
    expect(await states(socket)).toHaveLength(100);
    expect(socket.ask({ t: "unwatch", id: "w7" })).toEqual({ t: "unwatched", id: "w7" });
    socket.say({ t: "watch", id: "w100", key: "k" });
    expect(await states(socket)).toMatchObject([{ id: "w100", full: true }]);
  });

  test("ends with unwatch, which may be said of nothing", async () => {
    const world = new World();
    const { socket } = await watching(world, { key: "k" });
    expect(socket.ask({ t: "unwatch", id: "w" })).toEqual({ t: "unwatched", id: "w" });
    expect(socket.ask({ t: "unwatch", id: "w" })).toEqual({ t: "unwatched", id: "w" });
    world.session().acquire("k");
    expect(await states(socket)).toEqual([]);
  });

  test("ends with an unwatch that comes before the first state", async () => {
    const world = new World();
    const socket = world.session();
    socket.say([
      { t: "watch", id: "w", key: "k" },
      { t: "unwatch", id: "w" },
    ]);
    expect(await states(socket)).toEqual([]);
  });

  test("is neither heard of nor looked at any more when the last watcher leaves while a change waits to be told", async () => {
    const submit = vi.spyOn(Space.prototype, "submit");
    const { value } = Object.getOwnPropertyDescriptor(Space.prototype, "watch")!;
    const watch = value as (this: Space, ...args: Parameters<Space["watch"]>) => () => void;
    let listening = 0;
    vi.spyOn(Space.prototype, "watch").mockImplementation(function (this: Space, hear) {
      const stop = watch.call(this, hear);
      listening += 1;
      return () => {
        listening -= 1;
        stop();
      };
    });
    onTestFinished(() => void vi.restoreAllMocks());
    const world = new World();
    const { socket } = await watching(world, { key: "k" });
    const { socket: other } = await watching(world, { prefix: "k" });
    const holder = world.session();
    const { token } = holder.acquire("k");
    expect(await states(socket)).toHaveLength(1);
    other.drop();
    holder.ask({ t: "release", key: "k", token });
    expect(listening).toBe(1);
    submit.mockClear();
    socket.ask({ t: "unwatch", id: "w" });
    expect(listening).toBe(0);
    world.advance(1000);
    await settle();
    expect(submit.mock.calls.map(([{ kind }]) => kind)).toEqual(["tick"]);
    // Whoever comes then is heard again.
    socket.say({ t: "watch", id: "w", key: "k" });
    holder.acquire("k");
    expect(listening).toBe(1);
    expect((await states(socket)).at(-1)).toMatchObject({ keys: [{ status: "held" }] });
  });

  test.each([
    ["a drop", (socket: FakeSocket) => socket.drop()],
    ["a bye", (socket: FakeSocket) => socket.say({ t: "bye" })],
    ["silence", (_: FakeSocket, world: World) => world.advance(15_000)],
  ])("leaves nothing behind after %s", async (_, end) => {
    const world = new World();
    const { socket } = await watching(world, { key: "k" });
    socket.say({ t: "watch", id: "p", prefix: "" });
    await settle();
    expect(gauge((await world.ask("GET", "/metrics")).text, "latchkey_watches")).toBe(2);
    end(socket, world);
    const { text } = await world.ask("GET", "/metrics");
    expect(gauge(text, "latchkey_watches")).toBe(0);
    expect(gauge(text, "latchkey_spaces")).toBe(0);
  });

  test("ends with the connection of a session with a grace: whoever resumes watches anew", async () => {
    const world = new World();
    const before = world.session({ grace: 5000 });
    before.say({ t: "watch", id: "w", key: "k" });
    await settle();
    const after = world.session({ resume: before.resume });
    world.session().acquire("k");
    expect(await states(after)).toEqual([]);
    after.say({ t: "watch", id: "w", key: "k" });
    expect(await states(after)).toMatchObject([{ full: true, keys: [{ status: "held" }] }]);
    expect(gauge((await world.ask("GET", "/metrics")).text, "latchkey_watches")).toBe(1);
  });

  test("by a thousand is read once for all of them, and told to each", async () => {
    const submit = vi.spyOn(Space.prototype, "submit");
    onTestFinished(() => submit.mockRestore());
    const world = new World();
    const sockets = await crowd(world, 1000);
    const holder = world.session();
    const { token } = holder.acquire("k", { meta: 1 });
    holder.ask({ t: "release", key: "k", token });
    holder.acquire("k", { meta: 2 });
    let told = 0;
    for (let turn = 0; turn < 100 && told < 1000; turn++) {
      await settle();
      for (const socket of sockets) told += socket.news().filter(({ t }) => t === "state").length;
    }
    expect(told).toBe(1000);
    // One for each at its beginning, and one for all.
    expect(submit.mock.calls.filter(([{ kind }]) => kind === "status")).toHaveLength(1000 + 1);
  });

  test("is told to some at a time: who is handed a key in between does not wait for all of them", async () => {
    const world = new World();
    const sockets = await crowd(world, 100);
    const order: string[] = [];
    for (const socket of sockets) socket.onSent = (text) => void (text.includes("state") && order.push("state"));
    const [holder, next] = [world.session(), world.session()];
    const { token } = holder.acquire("k");
    next.acquire("k");
    next.onSent = (text) => void (text.includes("granted") && order.push("granted"));
    while (order.length === 0) await new Promise((resolve) => setImmediate(resolve));
    holder.ask({ t: "release", key: "k", token });
    for (let turn = 0; turn < 50; turn++) await settle();
    expect(order.indexOf("granted")).toBeLessThan(100);
    expect(order.filter((what) => what === "state")).toHaveLength(100);
  });

  test("is not told to one who has left while the others were being told", async () => {
    const world = new World();
    const sockets = await crowd(world, 30);
    const [first, last] = [sockets[0]!, sockets.at(-1)!];
    let isLeaving = true;
    first.onSent = (text) => {
      if (!isLeaving || !text.includes("state")) return;
      isLeaving = false;
      last.ask({ t: "unwatch", id: "w" });
    };
    world.session().acquire("k");
    for (let turn = 0; turn < 10; turn++) await settle();
    expect(sockets.map((socket) => socket.frames("state").length)).toEqual([...Array<number>(29).fill(2), 1]);
    // And whoever is told next is not kept waiting by that.
    world.advance(50);
    world.session().acquire("k");
    for (let turn = 0; turn < 10; turn++) await settle();
    expect(sockets.map((socket) => socket.frames("state").length)).toEqual([...Array<number>(29).fill(3), 1]);
  });

  test("is told to the others when one cannot be told", async () => {
    const told: string[] = [];
    const errors: unknown[] = [];
    const line = new FanOut(
      (_, go) => void setImmediate(go),
      new Departures(),
      (error, { where }) => void errors.push([where, error]),
    );
    const error = new Error("cannot");
    const tellers = ["a", "b", "c"];
    line.add(() => {
      const name = tellers.shift();
      if (name === "b") throw error;
      if (name !== undefined) told.push(name);
      return name !== undefined;
    });
    line.add(() => {
      told.push("next");
      return false;
    });
    await settle();
    expect([told, errors]).toEqual([["a", "c", "next"], [["watch", error]]]);
  });

  test("is told at first to one who asked for it, however long it is; of news no more than 1 MiB waits", async () => {
    const world = new World();
    const holder = world.session();
    for (let i = 0; i < 1000; i++) holder.acquire(`k${i}`, { meta: "x".repeat(1020) });
    const socket = world.session();
    // Nothing is read yet.
    socket.onSent = (text) => void (socket.buffered += text.length);
    socket.say({ t: "watch", id: "w", prefix: "k" });
    await settle();
    const asked = socket.buffered;
    expect([asked > 1024 * 1024, socket.closedWith]).toEqual([true, undefined]);
    expect(socket.ask({ t: "list", prefix: "k", count: 1000 }).keys).toHaveLength(1000);
    expect([socket.buffered > 2 * asked - 20_000, socket.closedWith]).toEqual([true, undefined]);
    socket.buffered += 1024 * 1024;
    holder.acquire("k1000");
    await settle();
    expect(socket.closedWith).toEqual({ code: 1013, reason: "slow reader" });
  }, 20_000);

  test("is not told to one who does not read: that one is cut, and the others are told", async () => {
    const world = new World();
    const { socket: slow } = await watching(world, { key: "k" });
    const { socket: quick } = await watching(world, { key: "k" });
    slow.buffered = 1024 * 1024 + 1;
    world.session().acquire("k");
    await settle();
    expect(slow.closedWith).toEqual({ code: 1013, reason: "slow reader" });
    expect(await states(quick)).toHaveLength(1);
    expect(gauge((await world.ask("GET", "/metrics")).text, "latchkey_watches")).toBe(1);
  });
});

/** So many who watch the key `k`, and have been told what there is. */
async function crowd(world: World, count: number): Promise<FakeSocket[]> {
  const sockets = Array.from({ length: count }, () => world.session());
  for (const socket of sockets) socket.say({ t: "watch", id: "w", key: "k" });
  await settle();
  for (const socket of sockets) socket.news();
  return sockets;
}
