import { describe, expect, test } from "vitest";
import { TRUSTED } from "../../src/host/auth.ts";
import type { ApiKey } from "../../src/host/settings.ts";
import { settle } from "./support/time.ts";
import { FakeSocket, KEYS, World } from "./support/world.ts";

describe("hello", () => {
  test("is answered by a welcome that says what the session is", () => {
    const world = new World();
    const socket = world.session();
    expect(socket.news()).toEqual([
      {
        t: "welcome",
        v: 1,
        session: world.minted[0],
        secret: world.minted[1],
        space: "default",
        epoch: 7,
        durable: true,
        ping: 5000,
        deadline: 15_000,
        grace: 0,
        resumed: false,
      },
    ]);
  });

  test("must be the first frame: any other closes 4400", () => {
    const socket = new World().connect();
    socket.say({ t: "status", id: "a", key: "k" });
    expect(socket.news()).toMatchObject([{ t: "error", code: "bad_request" }]);
    expect(socket.closedWith?.code).toBe(4400);
  });

  test.each([
    ["no JSON", "hello", "bad_json"],
    ["a pong", "pong", "bad_json"],
    ["an unknown frame", '{"t":"dance"}', "unknown_frame"],
    ["no version", '{"t":"hello"}', "bad_request"],
    ["a version that is no number", '{"t":"hello","v":"1"}', "bad_request"],
    ["a negative grace", '{"t":"hello","v":1,"grace":-1}', "bad_request"],
    ["a grace past a day", '{"t":"hello","v":1,"grace":86400001}', "bad_request"],
    ["a resume without a secret", '{"t":"hello","v":1,"resume":{"session":"s"}}', "bad_request"],
    ["an empty space", '{"t":"hello","v":1,"space":""}', "bad_space"],
    ["a space with a slash", '{"t":"hello","v":1,"space":"a/b"}', "bad_space"],
    ["a space of 65 characters", `{"t":"hello","v":1,"space":"${"s".repeat(65)}"}`, "bad_space"],
    ["meta of 1025 bytes", `{"t":"hello","v":1,"meta":"${"m".repeat(1023)}"}`, "bad_request"],
  ])("that is bad closes 4400, after an error that says why: %s", (_, text, code) => {
    const socket = new World().connect();
    socket.say(text);
    expect(socket.news()).toMatchObject([{ t: "error", code }]);
    expect(socket.closedWith?.code).toBe(4400);
  });

  test("a space of 64 characters and meta of 1024 bytes are accepted", () => {
    const world = new World();
    const socket = world.session({ space: "s".repeat(64), meta: "m".repeat(1022) });
    expect(socket.welcome.space).toBe("s".repeat(64));
    socket.acquire("k");
    expect(socket.status("k").holders).toMatchObject([{ meta: "m".repeat(1022) }]);
  });

  test("another version closes 4426, whatever else the frame says", () => {
    const socket = new World().connect();
    socket.say({ t: "hello", v: 2, grace: "long" });
    expect(socket.news()).toMatchObject([{ t: "error", code: "protocol_version" }]);
    expect(socket.closedWith?.code).toBe(4426);
  });

  test("may be said once: a second one is an error and loses nothing", () => {
    const socket = new World().session();
    socket.acquire("k");
    socket.news();
    socket.hello();
    expect(socket.news()).toMatchObject([{ t: "error", code: "bad_request" }]);
    expect(socket.status("k").status).toBe("held");
  });

  test("a grace is capped by the host", () => {
    const world = new World({ graceMaxMs: 2000 });
    expect(world.session({ grace: 2001 }).welcome.grace).toBe(2000);
    expect(world.session({ grace: 1999 }).welcome.grace).toBe(1999);
  });

  test("that does not come in time closes 4408: not before, at the deadline", () => {
    const world = new World();
    const socket = world.connect();
    world.advance(4999.9);
    expect(socket.closedWith).toBeUndefined();
    world.advance(0.1);
    expect(socket.closedWith?.code).toBe(4408);
  });

  test("that came in time is not timed out", () => {
    const world = new World();
    const socket = world.connect();
    world.advance(4999);
    socket.hello();
    world.advance(100);
    expect(socket.closedWith).toBeUndefined();
  });

  test("too many sessions close 4429 with the limit", () => {
    const world = new World({ limits: { sessionsMax: 1 } });
    const first = world.session();
    const second = world.session();
    expect(second.news()).toMatchObject([{ t: "error", code: "limit" }]);
    expect(second.closedWith?.code).toBe(4429);
    first.say({ t: "bye" });
    expect(world.session().welcome.t).toBe("welcome");
  });

  test("too many spaces close 4429, and one that is given up makes room", () => {
    const world = new World({ spacesMax: 1 });
    const first = world.session({ space: "a" });
    expect(world.session({ space: "b" }).closedWith?.code).toBe(4429);
    expect(world.session({ space: "a" }).welcome.space).toBe("a");
    first.drop();
    world.sockets[2]!.drop();
    expect(world.session({ space: "b" }).welcome.space).toBe("b");
  });
});

describe("the user behind a session", () => {
  const holder = (socket: FakeSocket): unknown => {
    socket.acquire("k");
    return socket.status("k").holders[0]?.user;
  };

  test("is who it says it is, where no API key says otherwise", () => {
    expect(holder(new World().session({ user: "ada" }))).toBe("ada");
    expect(holder(new World({ keys: KEYS }).session({ user: "ada", auth: KEYS[0]!.secret }))).toBe("ada");
    expect(holder(new World().session())).toBeUndefined();
  });

  test("is the API key's, if that is a user's, and a hello with another is closed 4403", () => {
    const keys: readonly ApiKey[] = [{ name: "a", secret: "secret-of-ada", user: "ada", permissions: [] }];
    const auth = "secret-of-ada";
    expect(holder(new World({ keys }).session({ auth }))).toBe("ada");
    expect(holder(new World({ keys }).session({ auth, user: "ada" }))).toBe("ada");
    const other = new World({ keys }).session({ auth, user: "bo" });
    expect(other.news()).toMatchObject([{ t: "error", code: "forbidden" }]);
    expect(other.closedWith?.code).toBe(4403);
  });

  test("has 1 to 255 bytes", () => {
    expect(new World().session({ user: "é".repeat(127) }).welcome.t).toBe("welcome");
    for (const user of ["", "é".repeat(128), 7]) expect(new World().session({ user }).closedWith?.code).toBe(4400);
  });

  test("stays the same when the session is resumed", () => {
    const world = new World();
    const before = world.session({ user: "ada", grace: 5000 });
    before.drop();
    expect(holder(world.session({ user: "bo", resume: before.resume }))).toBe("ada");
  });
});

describe("frames before the welcome", () => {
  test("are served after it, in order", async () => {
    const world = new World({}, (store) => {
      store.mode = "held";
    });
    const socket = world.connect();
    socket.hello();
    socket.say({ t: "acquire", id: "a", key: "k" });
    socket.say({ t: "acquire", id: "b", key: "k" });
    socket.say("pong");
    expect(socket.news()).toEqual(["ack"]);
    world.store.mode = "sync";
    world.store.finish();
    await settle();
    expect(socket.news()).toMatchObject([{ t: "welcome" }, { t: "granted", id: "a" }, { t: "queued", id: "b" }]);
  });

  test("end with a bye among them", async () => {
    const world = new World({}, (store) => {
      store.mode = "held";
    });
    const socket = world.connect();
    socket.hello();
    socket.say({ t: "bye" });
    socket.say({ t: "acquire", id: "a", key: "k" });
    world.store.mode = "sync";
    world.store.finish();
    await settle();
    expect(socket.news()).toMatchObject([{ t: "welcome" }]);
    expect(socket.closedWith?.code).toBe(1000);
    socket.say({ t: "acquire", id: "b", key: "k" });
    expect(socket.news()).toEqual([]);
  });

  test("are served to nobody who resumes with a wrong secret", async () => {
    const world = new World();
    const owner = world.session({ grace: 10_000 });
    const { token } = owner.acquire("k");
    const { session } = owner.resume;
    owner.drop();
    world.store.mode = "held";
    const thief = world.connect();
    world.session().acquire("other", { ttl: 1000, keep: true });
    thief.hello({ resume: { session, secret: "guess" } });
    thief.say({ t: "release", id: "r", key: "k", token });
    thief.say({ t: "bye" });
    world.store.mode = "sync";
    while (world.store.held.length > 0) {
      world.store.finish();
      await settle();
    }
    expect(thief.news()).toMatchObject([{ t: "error", code: "session_ended" }]);
    expect(thief.closedWith?.code).toBe(4410);
    expect(world.session().status("k").status).toBe("held");
  });

  test("are kept up to the size of one frame, then 4413", async () => {
    const world = new World({}, (store) => {
      store.mode = "held";
    });
    const socket = world.connect();
    socket.hello();
    const text = `{"t":"status","id":"a","key":"k","pad":"${"x".repeat(1024 * 1024)}"}`;
    socket.say(text);
    expect(socket.closedWith).toBeUndefined();
    socket.say(text);
    expect(socket.closedWith?.code).toBe(4413);
    world.store.mode = "sync";
    world.store.finish();
    await settle();
    expect((await world.ask("GET", "/metrics")).text).toContain("latchkey_sessions 0");
  });
});

describe("credentials of a session", () => {
  const bearer = (secret: string): Record<string, string> => ({ authorization: `Bearer ${secret}` });
  const offered = (secret: string): Record<string, string> => ({
    "sec-websocket-protocol": `latchkey.v1, latchkey.bearer.${btoa(secret).replaceAll("=", "")}`,
  });
  const [plain, pinned] = [KEYS[0]!.secret, KEYS[1]!.secret];

  test.each([
    ["the header", bearer(plain), {}],
    ["the header, whatever the case of its scheme", { authorization: `bEARER ${plain}` }, {}],
    ["a subprotocol", offered(plain), {}],
    ["hello", {}, { auth: plain }],
    ["the header before a wrong subprotocol", { ...offered("wrong"), ...bearer(plain) }, {}],
    ["the header before a wrong hello", bearer(plain), { auth: "wrong" }],
    ["a subprotocol before a wrong hello", offered(plain), { auth: "wrong" }],
  ])("are taken from %s", (_, headers, hello) => {
    const world = new World({ keys: KEYS });
    expect(world.session(hello, { headers }).welcome.t).toBe("welcome");
  });

  test.each([
    ["none", {}, {}],
    ["a wrong header", bearer("wrong"), {}],
    ["a wrong header and a right hello", bearer("wrong"), { auth: plain }],
    ["a wrong subprotocol and a right hello", offered("wrong"), { auth: plain }],
    ["a subprotocol that cannot be decoded", { "sec-websocket-protocol": "latchkey.bearer.!" }, {}],
    ["a wrong hello", {}, { auth: "wrong" }],
    ["an empty hello", {}, { auth: "" }],
    ["a longer key", bearer(`${plain}x`), {}],
    ["a shorter key", bearer(plain.slice(0, -1)), {}],
    ["a key twice", bearer(plain + plain), {}],
  ])("that are not valid close 4401: %s", (_, headers, hello) => {
    const world = new World({ keys: KEYS });
    const socket = world.session(hello, { headers });
    expect(socket.news()).toMatchObject([{ t: "error", code: "unauthenticated" }]);
    expect(socket.closedWith?.code).toBe(4401);
  });

  test("bound to a space open it without naming it, and no other: 4403", () => {
    const world = new World({ keys: KEYS });
    expect(world.session({}, { headers: bearer(pinned) }).welcome.space).toBe("pinned");
    expect(world.session({ space: "pinned" }, { headers: bearer(pinned) }).welcome.space).toBe("pinned");
    const other = world.session({ space: "default" }, { headers: bearer(pinned) });
    expect(other.news()).toMatchObject([{ t: "error", code: "forbidden" }]);
    expect(other.closedWith?.code).toBe(4403);
  });

  test("of a user say who is behind the session, which welcome tells, and nobody else may be: 4403", () => {
    const world = new World({ keys: [{ secret: plain, name: "ada", permissions: [], user: "ada" }] });
    expect(world.session({}, { headers: bearer(plain) }).welcome).toMatchObject({ user: "ada" });
    expect(world.session({ user: "ada" }, { headers: bearer(plain) }).welcome).toMatchObject({ user: "ada" });
    expect(world.session({ user: "bob" }, { headers: bearer(plain) }).closedWith?.code).toBe(4403);
    expect(new World().session({ user: "bob" }).welcome).not.toHaveProperty("user");
  });

  test("are not needed where there are no keys", () => {
    expect(new World().session({ auth: "whatever" }).welcome.t).toBe("welcome");
  });

  test("of a socket within the process may be shown by its hello", () => {
    const world = new World({ keys: KEYS });
    const socket = world.connect();
    world.host.opened(socket);
    socket.hello({ auth: plain });
    expect(socket.welcome.t).toBe("welcome");
  });
});

test("a socket within the process may be opened as one that may do everything", () => {
  const world = new World({ keys: KEYS });
  const socket = new FakeSocket("inside", world.host);
  world.host.opened(socket, { admission: { protocol: undefined, shown: TRUSTED }, liveness: false });
  socket.hello();
  expect(socket.acquire("k", { steal: true }).t).toBe("granted");
  expect(socket.ask({ t: "revoke", key: "k" }).t).toBe("revoked");
});

describe("the upgrade", () => {
  test("echoes latchkey.v1 when it was offered, and never what carries a key", () => {
    const world = new World();
    const protocolFor = (offered: string): string | undefined =>
      world.connect({ headers: { "sec-websocket-protocol": offered } }).protocol;
    expect(protocolFor("latchkey.v1")).toBe("latchkey.v1");
    expect(protocolFor("latchkey.bearer.YQ, latchkey.v1")).toBe("latchkey.v1");
    expect(protocolFor("latchkey.bearer.YQ")).toBeUndefined();
    expect(protocolFor("graphql-ws")).toBeUndefined();
    expect(world.connect().protocol).toBeUndefined();
  });

  test("is refused at another path", () => {
    const admission = new World().host.admit(new Request("http://localhost/v1/other"));
    expect(admission).toBeInstanceOf(Response);
    expect(admission).toHaveProperty("status", 404);
  });
});
