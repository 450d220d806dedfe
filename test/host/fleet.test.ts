import { expect, test } from "vitest";
import { FleetWorld } from "./support/fleet.ts";
import { settle } from "./support/time.ts";

const KEY = "/v1/latch/k";

test("a welcome tells the epoch of the space", () => {
  expect(new FleetWorld().session().welcome.epoch).toBe(42);
});

test("a pong is acked as long as what the client concludes from it holds even if this process stops now, and no longer", () => {
  const world = new FleetWorld({ deadlineMs: 6000, heartbeatMs: 2000 });
  const socket = world.session();
  socket.news();
  world.space.vouchedUntil = world.time.now() + 6000;
  socket.say("pong");
  expect(socket.news()).toEqual(["ack"]);
  world.time.skip(1);
  socket.say("pong");
  expect(socket.news()).toEqual([]);
  world.space.vouchedUntil += 1;
  socket.say("pong");
  expect(socket.news()).toEqual(["ack"]);
});

test("a session within the process has a heartbeat as well: its process may be given up", () => {
  const world = new FleetWorld();

  expect(world.session({}, false).welcome).toMatchObject({ ping: 5000, deadline: 15_000 });
});

test("a session that another process has taken over is closed as taken over, and not dropped", () => {
  const world = new FleetWorld();
  const socket = world.session();
  world.space.parts.receiver.moved?.(socket.welcome.session);
  socket.drop();

  expect(socket.closedWith?.code).toBe(4409);
  expect(world.space.submitted.map(({ kind }) => kind)).toEqual(["open"]);
});

test("whoever resumes a session here just after it went elsewhere is not taken for the one that left", async () => {
  const world = new FleetWorld();
  const socket = world.session({ grace: 1000 });
  const { session } = socket.welcome;
  const again = world.session(null);
  world.space.isHeld = true;
  again.hello({ resume: socket.resume });
  world.space.parts.receiver.moved?.(session);
  expect(socket.closedWith?.code).toBe(4409);
  world.space.flow();
  await settle();

  expect(again.welcome).toMatchObject({ session, resumed: true });
  expect(again.closedWith).toBeUndefined();
});

test("while no answer can be had callers are sent away with 503; what was granted to nobody is given back", async () => {
  const world = new FleetWorld();
  const held = world.session();
  world.space.isHeld = true;
  const calls = [world.request("POST", `${KEY}/acquire`, { timeout: 60_000 }), world.request("GET", KEY)];
  await settle();
  world.space.tell();
  for (const call of calls) {
    const response = await call;
    expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([503, "unavailable"]);
  }
  expect(held.closedWith).toBeUndefined();
  world.space.flow();

  expect(held.status("k")).toMatchObject({ holders: [], waiting: 0 });
});

test("a caller that comes back under its request id while no answer can be had gets the grant of the first call", async () => {
  const world = new FleetWorld();
  world.session();
  world.space.isHeld = true;
  const asked = { timeout: 60_000, request_id: "once" };
  const first = world.request("POST", `${KEY}/acquire`, asked);
  await settle();
  world.space.tell();
  expect((await first).status).toBe(503);
  const second = world.request("POST", `${KEY}/acquire`, asked);
  await settle();
  world.space.flow();

  expect((await second).status).toBe(200);
  expect(world.space.submitted.map(({ kind }) => kind)).toEqual(["open", "acquire"]);
});

test("a begin that has no answer is sent away as well, and the attempt that it starts later is ended", async () => {
  const world = new FleetWorld();
  world.session();
  world.space.isHeld = true;
  const begun = world.request("POST", "/v1/idempotency/k/begin", {});
  await settle();
  world.space.tell();
  expect((await begun).status).toBe(503);
  world.space.flow();

  expect(world.space.submitted.at(-1)).toMatchObject({ kind: "cancel_begin" });
});

test("a process that was cut off closes its sessions and answers 503, and joins anew with the next call", async () => {
  const world = new FleetWorld();
  const socket = world.session();
  world.space.isHeld = true;
  const call = world.request("GET", KEY);
  await settle();
  world.space.cutOff();
  expect((await call).status).toBe(503);
  expect(socket.frames("error")).toMatchObject([{ code: "unavailable" }]);
  expect(socket.closedWith?.code).toBe(4500);
  expect(world.spaces[0]!.submitted.some(({ kind }) => kind === "drop")).toBe(false);

  expect((await world.request("GET", KEY)).status).toBe(200);
  expect(world.spaces).toHaveLength(2);
});

test("/readyz asks what serves the spaces, each time", async () => {
  const world = new FleetWorld();
  expect((await world.request("GET", "/readyz")).status).toBe(200);
  world.isUp = false;
  expect((await world.request("GET", "/readyz")).status).toBe(503);
  world.isUp = true;
  expect((await world.request("GET", "/readyz")).status).toBe(200);
});

test("a drain leaves each space, after the last that was to be said there", async () => {
  const world = new FleetWorld();
  world.session();
  world.session({ space: "other" });
  await world.host.drain();

  expect(world.spaces.map(({ said }) => said)).toEqual([
    ["settled", "left"],
    ["settled", "left"],
  ]);
  expect(world.spaces.map(({ submitted }) => submitted.at(-1)?.kind)).toEqual(["drop", "drop"]);
});

test("metrics count the sessions that are connected here", async () => {
  const world = new FleetWorld();
  world.session();
  world.session();
  const told = await (await world.request("GET", "/metrics")).text();

  expect(told).toContain("latchkey_sessions 2\n");
});

test("a watch is told what there is before anything that changed meanwhile", async () => {
  const world = new FleetWorld();
  const [holder, other, early, late] = [world.session(), world.session(), world.session(), world.session()];
  early.say({ t: "watch", id: "w", key: "k" });
  holder.say({ t: "acquire", id: "1", key: "k" });
  await settle();
  other.say({ t: "acquire", id: "1", key: "k" });
  // What changed is read now, and before it is told another watch is asked for, whose state nobody can say yet.
  world.time.advance(50);
  world.space.isHeld = true;
  late.say({ t: "watch", id: "w", key: "k" });
  await settle();
  expect(early.frames("state").at(-1)).toMatchObject({ keys: [{ waiting: 1 }] });
  expect(late.frames("state")).toEqual([]);
  world.space.flow();
  await settle();
  expect(late.frames("state")).toMatchObject([{ full: true, keys: [{ status: "held", waiting: 1 }] }]);
});

test("a watch that nobody can serve for now is refused, and leaves nothing behind", async () => {
  const world = new FleetWorld();
  const watcher = world.session();
  world.space.isHeld = true;
  watcher.say({ t: "watch", id: "w", key: "k" });
  world.space.tell();
  await settle();
  expect(watcher.news().at(-1)).toMatchObject({ t: "refused", id: "w", code: "unavailable", retryable: true });
  world.space.flow();
  world.session().acquire("k");
  await settle();
  expect(watcher.frames("state")).toEqual([]);
});

test("news that cannot be read for now are told when they can be, a second later", async () => {
  const world = new FleetWorld();
  const watcher = world.session();
  watcher.say({ t: "watch", id: "w", key: "k" });
  await settle();
  watcher.news();
  const holder = world.session();
  holder.acquire("k");
  world.space.isHeld = true;
  await settle();
  world.space.tell();
  await settle();
  world.space.isHeld = false;
  world.time.advance(999);
  await settle();
  expect(watcher.frames("state")).toHaveLength(1);
  world.time.advance(51);
  await settle();
  expect(watcher.frames("state")).toMatchObject([{ full: true }, { keys: [{ status: "held" }] }]);
});

test("when any key may have changed all that is in use is told, and once what is gone", async () => {
  const world = new FleetWorld();
  const [key, prefix, holder] = [world.session(), world.session(), world.session()];
  const { token } = holder.acquire("doc:1");
  key.say({ t: "watch", id: "w", key: "doc:1" });
  prefix.say({ t: "watch", id: "w", prefix: "doc:" });
  await settle();
  world.space.isDeaf = true;
  holder.ask({ t: "release", key: "doc:1", token });
  holder.acquire("doc:2");
  await settle();
  expect([key, prefix].map((socket) => socket.frames("state").length)).toEqual([1, 1]);
  for (let times = 0; times < 2; times++) {
    world.space.hear(undefined);
    world.time.advance(50);
    await settle();
  }
  const told = (socket: typeof key): unknown[] =>
    socket.frames("state").map(({ keys }) => Object.fromEntries(keys.map((entry) => [entry.key, entry.status])));
  expect(told(key)).toEqual([{ "doc:1": "held" }, { "doc:1": "free" }, { "doc:1": "free" }]);
  expect(told(prefix)).toEqual([{ "doc:1": "held" }, { "doc:1": "free", "doc:2": "held" }, { "doc:2": "held" }]);
});

test("a prefix that has grown past what may be watched goes on in what was told of it", async () => {
  const world = new FleetWorld();
  const [watcher, holder, other] = [world.session(), world.session(), world.session()];
  const { token } = holder.acquire("k0");
  for (let i = 1; i < 1000; i++) holder.acquire(`k${i}`);
  watcher.say({ t: "watch", id: "w", prefix: "k" });
  await settle();
  expect(watcher.frames("state")).toHaveLength(10);
  world.space.isDeaf = true;
  holder.ask({ t: "release", key: "k0", token });
  for (const key of ["k1000", "k1001"]) other.acquire(key);
  world.space.hear(undefined);
  world.time.advance(50);
  await settle();
  const told = watcher.frames("state").slice(10);
  const free = told.flatMap(({ keys }) => keys).filter(({ status }) => status === "free");
  expect([told.length, free.map(({ key }) => key)]).toEqual([10, ["k0"]]);
  world.space.isDeaf = false;
  other.acquire("k1002");
  world.time.advance(50);
  await settle();
  expect(watcher.frames("state").slice(20)).toMatchObject([{ keys: [{ key: "k1002", status: "held" }] }]);
}, 20_000);

test("watchers of a space that is cut off end with their sessions", async () => {
  const world = new FleetWorld();
  const watcher = world.session();
  watcher.say({ t: "watch", id: "w", key: "k" });
  await settle();
  world.space.cutOff();
  expect(watcher.closedWith?.code).toBe(4500);
  const { text } = await world.request("GET", "/metrics").then(async (answer) => ({ text: await answer.text() }));
  expect(text).toContain("latchkey_watches 0\n");
});
