import { describe, expect, test } from "vitest";
import { settle } from "./support/time.ts";
import { type FakeSocket, World } from "./support/world.ts";

/** Answers each ping at once, as a client that is well does. */
function answering(socket: FakeSocket): FakeSocket {
  socket.onSent = (text) => {
    if (text === "ping") socket.say("pong");
  };
  return socket;
}

describe("the heartbeat", () => {
  test("pings each session every heartbeat, from its welcome on", () => {
    const world = new World();
    const first = answering(world.session());
    world.advance(2000);
    const second = answering(world.session());
    first.news();
    second.news();
    world.advance(2999);
    expect([first.news(), second.news()]).toEqual([[], []]);
    world.advance(1);
    expect([first.news(), second.news()]).toEqual([["ping", "ack"], []]);
    world.advance(2000);
    expect([first.news(), second.news()]).toEqual([[], ["ping", "ack"]]);
    world.advance(20_000);
    expect(first.news()).toEqual(["ping", "ack", "ping", "ack", "ping", "ack", "ping", "ack"]);
  });

  test("answers each pong with an ack, also one that nobody asked for", () => {
    const socket = new World().session();
    socket.news();
    socket.say("pong");
    expect(socket.news()).toEqual(["ack"]);
  });

  test("ends a silent session as dropped, without waiting for a close: not before its deadline, at its deadline", () => {
    const world = new World();
    const [silent, other] = [world.session(), answering(world.session())];
    silent.acquire("k");
    other.acquire("k", { id: "next" });
    world.advance(14_999.9);
    expect(other.frames("granted")).toEqual([]);
    expect(silent.closedWith).toBeUndefined();
    world.advance(0.1);
    expect(other.frames("granted")).toMatchObject([{ id: "next" }]);
    expect(silent.closedWith?.code).toBe(4410);
  });

  test("counts the deadline from the last inbound frame of any kind, to the millisecond", () => {
    const world = new World();
    const socket = world.session();
    world.advance(7300);
    socket.say("{");
    world.advance(14_999);
    expect(socket.closedWith).toBeUndefined();
    world.advance(1);
    expect(socket.closedWith?.code).toBe(4410);
  });

  test("is over at the deadline, also where the alarm is late and a frame comes first", () => {
    const world = new World();
    const socket = world.session();
    socket.acquire("k");
    world.time.skip(15_000);
    socket.say("pong");
    expect(socket.closedWith?.code).toBe(4410);
    expect(world.session().status("k").status).toBe("free");
  });

  test("counts from the welcome, however long the store took for it", async () => {
    const world = new World({}, (store) => {
      store.mode = "held";
    });
    const socket = world.session();
    world.advance(60_000);
    world.store.mode = "sync";
    world.store.finish();
    await settle();
    world.advance(14_999);
    expect(socket.closedWith).toBeUndefined();
    world.advance(1);
    expect(socket.closedWith?.code).toBe(4410);
  });

  test("counts no outbound frame as life", () => {
    const world = new World();
    const [silent, other] = [world.session(), answering(world.session())];
    for (let second = 0; second < 15; second++) {
      expect(silent.closedWith).toBeUndefined();
      const { token } = other.acquire(`k${second}`);
      other.ask({ t: "release", key: `k${second}`, token });
      world.advance(1000);
    }
    expect(silent.closedWith?.code).toBe(4410);
  });

  test("suspends a silent session that has a grace and closes 4408, so that it can be resumed", () => {
    const world = new World();
    const silent = world.session({ grace: 20_000 });
    const { token } = silent.acquire("k");
    world.advance(15_000);
    expect(silent.closedWith?.code).toBe(4408);
    world.advance(19_999);
    const resumed = world.session({ resume: silent.resume });
    expect(resumed.welcome.claims).toMatchObject([{ state: "holding", token }]);
  });

  test("of an ended connection is over: no ping, and no alarm that is set for it", () => {
    const world = new World();
    const socket = world.session();
    socket.drop();
    socket.news();
    expect(world.time.alarmAt).toBe(Number.POSITIVE_INFINITY);
    world.advance(60_000);
    expect(socket.news()).toEqual([]);
  });

  test("ends all that were silent while the process slept, in order", () => {
    const world = new World();
    const sockets = [world.session(), world.session(), world.session()];
    sockets[0]!.acquire("k");
    sockets[1]!.acquire("k");
    sockets[2]!.acquire("k", { id: "last" });
    world.time.skip(100_000);
    world.host.woken();
    expect(sockets.map(({ closedWith }) => closedWith?.code)).toEqual([4410, 4410, 4410]);
    expect(world.session().status("k")).toMatchObject({ status: "free", waiting: 0 });
  });

  test("does not exist for a socket within the process, and its welcome says so", () => {
    const world = new World();
    const socket = world.session({}, { liveness: false });
    expect(socket.welcome).toMatchObject({ ping: 0, deadline: 0 });
    socket.acquire("k");
    socket.news();
    world.advance(1_000_000);
    expect(socket.news()).toEqual([]);
    expect(socket.status("k").status).toBe("held");
  });

  test("follows the settings, and the welcome tells them", () => {
    const world = new World({ heartbeatMs: 100, deadlineMs: 250 });
    const socket = world.session();
    expect(socket.welcome).toMatchObject({ ping: 100, deadline: 250 });
    socket.news();
    world.advance(249);
    expect(socket.news()).toEqual(["ping", "ping"]);
    world.advance(1);
    expect(socket.closedWith?.code).toBe(4410);
  });
});

describe("a socket that does not take what it is sent", () => {
  test("is a dead session: it is dropped and the next is granted", () => {
    const world = new World();
    const [dead, other] = [world.session(), world.session()];
    const { token } = other.acquire("k");
    dead.acquire("k");
    other.acquire("k", { id: "next" });
    dead.takes = false;
    other.ask({ t: "release", key: "k", token });
    expect(other.frames("granted").at(-1)).toMatchObject({ id: "next" });
    expect(dead.closedWith).toBeDefined();
  });

  test("or throws, is dropped as well", () => {
    const world = new World();
    const dead = world.session();
    dead.acquire("k");
    dead.onSent = () => {
      throw new Error("not open");
    };
    world.advance(5000);
    expect(dead.closedWith).toBeDefined();
    expect(world.errors).toHaveLength(1);
    expect(world.session().status("k").status).toBe("free");
  });

  test("is dropped as a slow reader past 1 MiB, not at it", () => {
    const world = new World();
    const slow = world.session();
    slow.acquire("k");
    slow.buffered = 1024 * 1024;
    slow.say("pong");
    expect(slow.closedWith).toBeUndefined();
    slow.buffered += 1;
    slow.say("pong");
    expect(slow.closedWith?.code).toBe(1013);
    expect(world.session().status("k").status).toBe("free");
  });

  test("with a grace is suspended and can resume", () => {
    const world = new World();
    const slow = world.session({ grace: 5000 });
    slow.acquire("k");
    slow.buffered = 2 * 1024 * 1024;
    slow.say("pong");
    expect(world.session({ resume: slow.resume }).welcome.claims).toMatchObject([{ key: "k", state: "holding" }]);
  });
});
