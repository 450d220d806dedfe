import { describe, expect, test } from "vitest";
import { BATCH_FRAMES_MAX } from "../../src/protocol/limits.ts";
import { settle } from "./support/time.ts";
import { World } from "./support/world.ts";

describe("a batch of frames", () => {
  test("is served in its order, each frame as if it had come alone", () => {
    const socket = new World().session();
    const { token } = socket.acquire("k", { id: "a" });
    socket.news();
    socket.say([
      { t: "release", id: "r", key: "k", token },
      { t: "acquire", id: "b", key: "k" },
      { t: "acquire", id: "c", key: "k" },
    ]);
    expect(socket.news()).toMatchObject([
      { t: "released", id: "r" },
      { t: "granted", id: "b" },
      { t: "queued", id: "c" },
    ]);
  });

  test("loses nothing by a bad frame among good ones", () => {
    const socket = new World().session();
    socket.news();
    socket.say([
      { t: "acquire", id: "a", key: "k" },
      { t: "dance", id: "b" },
      [],
      7,
      { t: "status", id: "c", key: "k" },
    ]);
    expect(socket.news()).toMatchObject([
      { t: "granted", id: "a" },
      { t: "refused", id: "b", code: "unknown_frame" },
      { t: "error", code: "bad_request" },
      { t: "error", code: "bad_request" },
      { t: "status", id: "c", status: "held" },
    ]);
  });

  test(`has at most ${BATCH_FRAMES_MAX} frames`, () => {
    const socket = new World().session();
    socket.news();
    const frames = Array.from({ length: BATCH_FRAMES_MAX }, (_, i) => ({ t: "status", id: `${i}`, key: "k" }));
    socket.say(frames);
    expect(socket.news()).toHaveLength(BATCH_FRAMES_MAX);
    socket.say([...frames, { t: "status", id: "more", key: "k" }]);
    expect(socket.news()).toMatchObject([{ t: "error", code: "bad_request" }]);
  });

  test("has at least one", () => {
    const socket = new World().session();
    socket.news();
    socket.say([]);
    expect(socket.news()).toMatchObject([{ t: "error", code: "bad_request" }]);
    expect(socket.closedWith).toBeUndefined();
  });

  test("may begin with the hello", () => {
    const socket = new World().connect();
    socket.say([
      { t: "hello", v: 1 },
      { t: "acquire", id: "a", key: "k" },
    ]);
    expect(socket.news()).toMatchObject([{ t: "welcome" }, { t: "granted", id: "a" }]);
  });

  test("that comes before the welcome waits for it", async () => {
    const world = new World({}, (store) => {
      store.mode = "held";
    });
    const socket = world.connect();
    socket.say([
      { t: "hello", v: 1 },
      { t: "acquire", id: "a", key: "k" },
    ]);
    socket.say([{ t: "acquire", id: "b", key: "k" }, { t: "bye" }, { t: "acquire", id: "c", key: "k" }]);
    expect(socket.news()).toEqual([]);
    world.store.mode = "sync";
    world.store.finish();
    await settle();
    expect(socket.news()).toMatchObject([{ t: "welcome" }]);
    expect(socket.closedWith?.code).toBe(1000);
  });

  test("ends where a frame of it closes the socket", () => {
    const world = new World();
    const socket = world.connect();
    socket.say([
      { t: "status", id: "a", key: "k" },
      { t: "hello", v: 1 },
    ]);
    expect(socket.news()).toMatchObject([{ t: "error", code: "bad_request" }]);
    expect(socket.closedWith?.code).toBe(4400);
  });

  test("counts as its frames where frames a second are limited", () => {
    const world = new World({ ratePerSecond: 4 });
    const socket = world.session();
    socket.news();
    const frame = { t: "status", id: "a", key: "k" };
    socket.say([frame, frame, frame]);
    expect(socket.news()).toHaveLength(3);
    socket.say([frame, frame, frame]);
    expect(socket.news()).toMatchObject([{ t: "error", code: "limit" }]);
    expect(socket.closedWith?.code).toBe(4429);
  });
});

describe("what one turn tells one peer", () => {
  test("leaves in one message", () => {
    const socket = new World().session();
    const before = socket.sent.length;
    socket.say([
      { t: "acquire", id: "a", key: "k" },
      { t: "acquire", id: "b", key: "k" },
    ]);
    expect(socket.sent.slice(before)).toHaveLength(1);
    expect(JSON.parse(socket.sent.at(-1)!)).toMatchObject([{ id: "a" }, { id: "b" }]);
  });

  test("is a plain frame when there is but one", () => {
    const socket = new World().session();
    socket.say({ t: "acquire", id: "a", key: "k" });
    expect(JSON.parse(socket.sent.at(-1)!)).toMatchObject({ t: "granted", id: "a" });
  });

  test("leaves for the next holder before the one who let go has its answer", () => {
    const world = new World();
    const [holder, next] = [world.session(), world.session()];
    const { token } = holder.acquire("k", { id: "a" });
    next.acquire("k", { id: "b" });
    const order: string[] = [];
    holder.onSent = () => order.push("holder");
    next.onSent = () => order.push("next");
    holder.say([
      { t: "release", id: "r", key: "k", token },
      { t: "acquire", id: "c", key: "k" },
    ]);
    expect(order).toEqual(["next", "holder"]);
    expect(JSON.parse(holder.sent.at(-1)!)).toMatchObject([{ t: "released" }, { t: "queued" }]);
  });

  test("leaves for a peer that is not its sender before the rest of a batch is served", () => {
    const world = new World();
    const [holder, next] = [world.session(), world.session()];
    const { token } = holder.acquire("k", { id: "a" });
    next.acquire("k", { id: "b" });
    let answersThen: number | undefined;
    next.onSent = () => {
      answersThen = holder.sent.length;
    };
    const before = holder.sent.length;
    holder.say([
      { t: "release", id: "r", key: "k", token },
      { t: "status", id: "s", key: "k" },
      { t: "acquire", id: "c", key: "k" },
    ]);
    expect(answersThen).toBe(before);
    expect(JSON.parse(holder.sent.at(-1)!)).toMatchObject([
      { t: "released" },
      { t: "status", waiting: 0 },
      { t: "queued" },
    ]);
  });

  test("leaves before the close that follows it", () => {
    const socket = new World().session();
    socket.news();
    const order: string[] = [];
    socket.onSent = () => order.push(socket.closedWith === undefined ? "sent" : "late");
    socket.say([{ t: "acquire", id: "a", key: "k" }, { t: "bye" }]);
    expect(order).toEqual(["sent"]);
    expect(socket.closedWith?.code).toBe(1000);
  });

  test("grows to no message without bound", () => {
    const world = new World();
    const socket = world.session();
    const keys = Array.from({ length: 200 }, (_, i) => `${i}`.padEnd(250, "x"));
    for (const [i, key] of keys.entries()) socket.acquire(key, { id: `a${i}` });
    const before = socket.sent.length;
    socket.say(Array.from({ length: 4 }, (_, i) => ({ t: "list", id: `l${i}`, count: 1000 })));
    const messages = socket.sent.slice(before);
    expect(messages).toHaveLength(4);
    expect(messages.map((text) => (JSON.parse(text) as { id: string }).id)).toEqual(["l0", "l1", "l2", "l3"]);
  });

  test("leaves when an HTTP call brought it about, too", async () => {
    const world = new World();
    const session = world.session();
    const { body } = await world.acquire("k");
    session.acquire("k", { id: "a" });
    session.news();
    await world.release("k", { token: body.token });
    expect(session.news()).toMatchObject([{ t: "granted", id: "a" }]);
  });

  test("ends the session where the socket does not take it, and whoever is next is told in the same turn", () => {
    const world = new World();
    const [holder, dead, next] = [world.session(), world.session(), world.session()];
    const { token } = holder.acquire("k", { id: "a" });
    dead.acquire("k", { id: "b" });
    next.acquire("k", { id: "c" });
    next.news();
    dead.takes = false;
    holder.say({ t: "release", id: "r", key: "k", token });
    expect(dead.closedWith?.code).toBe(1013);
    expect(next.news()).toMatchObject([{ t: "granted", id: "c" }]);
  });
});
