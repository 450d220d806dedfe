import { describe, expect, test } from "vitest";
import { settle } from "./support/time.ts";
import { KEYS, World } from "./support/world.ts";

describe("a connection that is lost", () => {
  test("ends its session in one step: waits leave first, then holdings end, then the next are granted", () => {
    const world = new World();
    const [leaving, staying] = [world.session(), world.session()];
    leaving.acquire("k", { id: "holds" });
    leaving.acquire("k", { id: "waits" });
    staying.acquire("k", { id: "next" });
    leaving.news();
    leaving.drop();
    expect(staying.news().at(-1)).toMatchObject({ t: "granted", id: "next" });
    expect(staying.status("k").waiting).toBe(0);
    expect(leaving.news()).toEqual([]);
  });

  test("leaves kept locks", () => {
    const world = new World();
    const socket = world.session();
    socket.acquire("kept", { ttl: 5000, keep: true });
    socket.acquire("plain", { ttl: 5000 });
    socket.drop();
    const other = world.session();
    expect(other.status("kept").status).toBe("held");
    expect(other.status("plain").status).toBe("free");
  });

  test("is over: what still arrives on it, and a second close, change nothing", () => {
    const world = new World();
    const socket = world.session();
    socket.drop();
    socket.news();
    socket.acquire("k");
    socket.drop();
    world.host.binary(socket);
    expect(socket.news()).toEqual([]);
    expect(world.session().status("k").status).toBe("free");
    expect(world.errors).toEqual([]);
  });
});

describe("a grace", () => {
  test("keeps places and holdings until it ends, to the millisecond", () => {
    const world = new World();
    const leaving = world.session({ grace: 3000 });
    const staying = world.session();
    leaving.acquire("k");
    staying.acquire("k", { id: "next" });
    leaving.drop();
    for (let heard = 0; heard < 2999; heard += 1000) {
      world.advance(Math.min(1000, 2999 - heard));
      staying.say("pong");
    }
    expect(staying.frames("granted")).toEqual([]);
    world.advance(1);
    expect(staying.frames("granted")).toMatchObject([{ id: "next" }]);
  });

  test("ends with a resume, which tells all claims and what became of them", () => {
    const world = new World();
    const first = world.session({ grace: 30_000, meta: { name: "ada" } });
    const other = world.session();
    const { token: otherToken } = other.acquire("waited");
    const { token, fence } = first.acquire("held", { id: "holds" });
    first.acquire("waited", { id: "waits" });
    first.acquire("short", { id: "expires", ttl: 100 });
    first.drop();
    world.advance(200);
    other.ask({ t: "release", key: "waited", token: otherToken });

    const second = world.session({ resume: first.resume });
    expect(second.welcome).toMatchObject({ ...first.resume, resumed: true, grace: 30_000 });
    expect(second.welcome.claims).toEqual([
      {
        id: "holds",
        key: "held",
        state: "holding",
        mode: "exclusive",
        ticket: expect.any(Number),
        token,
        fence,
        depth: 1,
      },
      {
        id: "waits",
        key: "waited",
        state: "holding",
        mode: "exclusive",
        ticket: expect.any(Number),
        token: expect.any(String),
        fence: expect.any(Number),
        depth: 1,
      },
      { id: "expires", key: "short", state: "gone", mode: "exclusive", ticket: expect.any(Number), outcome: "expired" },
    ]);
    world.advance(31_000 - 200);
    expect(second.closedWith?.code).toBe(4408);
  });

  test("is told again by a resume after a restart of the host", () => {
    const world = new World();
    const first = world.session({ grace: 20_000 });
    const { token } = first.acquire("k", { ttl: 60_000 });
    const host = world.restarted();
    const second = world.session({ resume: first.resume }, { host });
    expect(second.welcome).toMatchObject({ resumed: true, grace: 20_000, claims: [{ state: "holding", token }] });
  });

  test("is over after a bye: waits are cancelled, holdings released, the socket closed 1000", () => {
    const world = new World();
    const leaving = world.session({ grace: 30_000 });
    const staying = world.session();
    staying.acquire("other");
    leaving.acquire("k");
    leaving.acquire("other");
    staying.acquire("k", { id: "next" });
    leaving.news();
    leaving.say({ t: "bye" });
    expect(leaving.news()).toEqual([]);
    expect(leaving.closedWith?.code).toBe(1000);
    expect(staying.frames("granted").at(-1)).toMatchObject({ id: "next" });
    expect(staying.status("other").waiting).toBe(0);
    expect(world.session({ resume: leaving.resume }).closedWith?.code).toBe(4410);
  });

  test("a frame after bye is not served", async () => {
    const world = new World();
    const socket = world.session({ grace: 1000 });
    world.store.mode = "held";
    socket.say({ t: "bye" });
    socket.say({ t: "acquire", id: "a", key: "k" });
    world.store.mode = "sync";
    world.store.finish();
    await settle();
    expect(socket.frames("refused")).toEqual([]);
    expect(socket.closedWith?.code).toBe(1000);
  });
});

describe("a resume", () => {
  test("takes over from an open connection: that one is closed 4409, and its late close changes nothing", () => {
    const world = new World();
    const older = world.session();
    const { token } = older.acquire("k");
    const newer = world.session({ resume: older.resume });
    expect(older.closedWith?.code).toBe(4409);
    expect(newer.welcome).toMatchObject({ resumed: true, claims: [{ token }] });
    older.drop();
    older.say({ t: "bye" });
    expect(newer.status("k").status).toBe("held");
    expect(newer.ask({ t: "release", key: "k", token })).toMatchObject({ t: "released", depth: 0 });
  });

  test("may come many times: the newest connection wins", () => {
    const world = new World();
    const sockets = [world.session()];
    sockets[0]!.acquire("k", { id: "a" });
    for (let i = 0; i < 3; i++) sockets.push(world.session({ resume: sockets[0]!.resume }));
    expect(sockets.map(({ closedWith }) => closedWith?.code)).toEqual([4409, 4409, 4409, undefined]);
    for (const socket of sockets.slice(0, 3)) socket.drop();
    expect(sockets[3]!.status("k").status).toBe("held");
    sockets[3]!.drop();
    expect(world.session().status("k").status).toBe("free");
  });

  test.each(["the public id", "guess", ""])(
    "with a wrong secret is 4410, and the session does not notice: %s",
    (guess) => {
      const world = new World();
      const owner = world.session();
      owner.acquire("k");
      const { session } = owner.resume;
      const secret = guess === "the public id" ? session : guess;
      const thief = world.session({ resume: { session, secret } });
      if (secret === "") expect(thief.closedWith?.code).toBe(4400);
      else expect(thief.news()).toMatchObject([{ t: "error", code: "session_ended" }]);
      expect(owner.closedWith).toBeUndefined();
      expect(owner.status("k").status).toBe("held");
    },
  );

  test("of an unknown session, or of a caller's scope, is 4410", () => {
    const world = new World();
    for (const session of ["unknown", "@", "@plain"]) {
      const socket = world.session({ resume: { session, secret: "x" } });
      expect(socket.news()).toMatchObject([{ t: "error", code: "session_ended" }]);
      expect(socket.closedWith?.code).toBe(4410);
    }
  });

  test("in another space finds nothing", () => {
    const world = new World();
    const owner = world.session({ grace: 1000 });
    expect(world.session({ space: "other", resume: owner.resume }).closedWith?.code).toBe(4410);
    expect(owner.closedWith).toBeUndefined();
  });

  test("serves with the permissions of the new connection's key", () => {
    const world = new World({ keys: KEYS });
    const [plain, , thief] = KEYS.map(({ secret }) => secret);
    const strong = world.session({ auth: thief });
    expect(strong.acquire("k", { steal: true }).t).toBe("granted");
    const weak = world.session({ auth: plain, resume: strong.resume });
    expect(weak.acquire("l", { steal: true })).toMatchObject({ t: "refused", code: "forbidden" });
  });
});

describe("a resume while the store is at work", () => {
  async function setting(): Promise<{ world: World; older: ReturnType<World["session"]> }> {
    const world = new World();
    const older = world.session({ grace: 10_000 });
    older.acquire("k", { id: "a" });
    world.store.mode = "held";
    // Something to commit, so that what follows has to wait.
    older.acquire("busy", { id: "b" });
    return { world, older };
  }

  async function finishAll(world: World): Promise<void> {
    for (let turn = 0; turn < 5; turn++) {
      if (world.store.held.length > 0) world.store.finish();
      await settle();
    }
  }

  test("is not undone by the old connection's close that comes meanwhile", async () => {
    const { world, older } = await setting();
    const newer = world.session({ resume: older.resume });
    older.drop();
    await finishAll(world);
    expect(newer.welcome.resumed).toBe(true);
    world.store.mode = "sync";
    for (let turn = 0; turn < 15; turn++) {
      world.advance(1000);
      newer.say("pong");
    }
    expect(newer.status("k").status).toBe("held");
  });

  test("that closes before its answer leaves the session with the old connection", async () => {
    const { world, older } = await setting();
    const newer = world.session({ resume: older.resume });
    newer.drop();
    await finishAll(world);
    expect(older.closedWith).toBeUndefined();
    world.store.mode = "sync";
    expect(older.status("k").status).toBe("held");
  });

  test("that closes before its answer, after the old connection closed, leaves a session that is dropped", async () => {
    const { world, older } = await setting();
    const newer = world.session({ resume: older.resume });
    older.drop();
    newer.drop();
    await finishAll(world);
    world.store.mode = "sync";
    const watcher = world.session();
    expect(watcher.status("k").status).toBe("held");
    for (let turn = 0; turn < 10; turn++) {
      world.advance(1000);
      watcher.say("pong");
    }
    expect(watcher.status("k").status).toBe("free");
  });

  test("with a wrong secret does not keep the session from being dropped", async () => {
    const { world, older } = await setting();
    const { session } = older.resume;
    const guess = { resume: { session, secret: "guess" } };
    const thieves = [world.session(guess)];
    expect(thieves[0]!.closedWith?.code).toBe(4410);
    older.drop();
    thieves.push(world.session(guess));
    await finishAll(world);
    expect(thieves.map(({ closedWith }) => closedWith?.code)).toEqual([4410, 4410]);
    world.store.mode = "sync";
    const watcher = world.session();
    for (let turn = 0; turn < 10; turn++) {
      world.advance(1000);
      watcher.say("pong");
    }
    expect(watcher.status("k").status).toBe("free");
  });

  test("a connection that closes while it opens leaves no session behind", async () => {
    const world = new World({}, (store) => {
      store.mode = "held";
    });
    const socket = world.session();
    socket.drop();
    await finishAll(world);
    expect((await world.ask("GET", "/metrics")).text).toContain("latchkey_sessions 0");
  });
});

describe("an operator", () => {
  test("revokes a session: its claims are lost, it is told why, and closed 4410", () => {
    const world = new World();
    const [operator, other] = [world.session({ meta: { name: "ops" } }), world.session({ grace: 10_000 })];
    other.acquire("k", { id: "a" });
    operator.acquire("l");
    other.acquire("l", { id: "b" });
    other.news();
    const { session } = other.welcome;
    expect(operator.ask({ t: "revoke_session", session, message: "maintenance" })).toMatchObject({
      t: "revoked",
      count: 2,
    });
    const by = { session: operator.welcome.session, meta: { name: "ops" }, message: "maintenance" };
    expect(other.news()).toEqual([
      { t: "lost", id: "b", key: "l", reason: "revoked", by },
      { t: "lost", id: "a", key: "k", reason: "revoked", by },
      { t: "error", code: "session_ended", detail: "the session was revoked: maintenance" },
    ]);
    expect(other.closedWith?.code).toBe(4410);
    expect(world.session({ resume: other.resume }).closedWith?.code).toBe(4410);
  });

  test("revokes the holders of a key", () => {
    const world = new World();
    const [operator, holder] = [world.session(), world.session()];
    holder.acquire("k", { id: "a", mode: "shared" });
    holder.acquire("k", { id: "b", mode: "shared" });
    expect(operator.ask({ t: "revoke", key: "k" })).toMatchObject({ t: "revoked", count: 2 });
    expect(holder.frames("lost")).toMatchObject([
      { id: "a", reason: "revoked" },
      { id: "b", reason: "revoked" },
    ]);
  });

  test.each([
    [{ t: "revoke", key: "k" }, 3],
    [{ t: "revoke_session", session: "s" }, 3],
    [{ t: "acquire", key: "k", steal: true }, 2],
  ])("needs the permission: %j", (frame, holderOfPermission) => {
    const world = new World({ keys: KEYS });
    KEYS.forEach(({ secret }, index) => {
      if (index === 1) return;
      const answer = world.session({ auth: secret }).ask(frame);
      if (index === holderOfPermission) expect(answer.t).not.toBe("refused");
      else expect(answer).toMatchObject({ t: "refused", code: "forbidden", retryable: false });
    });
  });
});
