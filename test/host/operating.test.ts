import { describe, expect, test } from "vitest";
import { AcquireBody, ExtendBody, ReleaseBody, RevokeBody } from "../../src/protocol/bodies.ts";
import { BeginBody, CompleteBody, ExtendAttemptBody, FailBody } from "../../src/protocol/idempotency-bodies.ts";
import { PROBLEMS } from "../../src/protocol/problems.ts";
import { settle } from "./support/time.ts";
import { World } from "./support/world.ts";

describe("health", () => {
  test("is told while the process lives, also while it drains", async () => {
    const world = new World();
    expect((await world.ask("GET", "/healthz")).status).toBe(200);
    await world.host.drain();
    expect((await world.ask("GET", "/healthz")).status).toBe(200);
  });

  test("readiness says whether locks are durable", async () => {
    const world = new World();
    expect((await world.ask("GET", "/readyz")).body).toEqual({ status: "ready", durable: true });
    const forgetful = new World({}, (store) => {
      store.durable = false;
    });
    expect((await forgetful.ask("GET", "/readyz")).body).toEqual({ status: "ready", durable: false });
    expect(forgetful.session().welcome.durable).toBe(false);
  });

  test("readiness is 503 while draining", async () => {
    const world = new World();
    await world.host.drain();
    expect(await world.ask("GET", "/readyz")).toMatchObject({ status: 503, body: { code: "draining" } });
  });

  test("readiness is 503 while the store fails, and looks whether it is back", async () => {
    const world = new World();
    world.store.mode = "broken";
    expect((await world.acquire("k")).status).toBe(503);
    expect(await world.ask("GET", "/readyz")).toMatchObject({ status: 503, body: { code: "unavailable" } });
    world.store.mode = "sync";
    expect((await world.ask("GET", "/readyz")).status).toBe(200);
  });

  test("readiness finds an asynchronous store back as well", async () => {
    const world = new World();
    world.store.mode = "broken";
    await world.acquire("k");
    world.store.mode = "held";
    expect((await world.ask("GET", "/readyz")).status).toBe(503);
    world.store.finish();
    await settle();
    expect((await world.ask("GET", "/readyz")).status).toBe(200);
  });
});

describe("a store that fails", () => {
  test("stops its space: calls are 503, sessions are closed for a clean retry, nobody is told what was not stored", async () => {
    const world = new World();
    const [graceful, plain] = [world.session({ grace: 30_000 }), world.session()];
    const elsewhere = world.session({ space: "elsewhere" });
    const { token } = graceful.acquire("k");
    plain.acquire("k", { id: "waits" });
    graceful.news();
    plain.news();
    world.store.mode = "broken";
    graceful.say({ t: "release", id: "r", key: "k", token });
    for (const socket of [graceful, plain]) {
      expect(socket.news()).toMatchObject([{ t: "error", code: "unavailable" }]);
      expect(socket.closedWith?.code).toBe(4500);
    }
    expect(elsewhere.closedWith).toBeUndefined();
    const answer = await world.acquire("k");
    expect(answer).toMatchObject({ status: 503, body: { code: "unavailable", retryable: true } });
    expect(answer.headers.get("retry-after")).toBe("1");
    expect(world.errors.length).toBeGreaterThan(0);
  });

  test("is loaded again on the next use, and shows what was stored and nothing else", async () => {
    const world = new World();
    const graceful = world.session({ grace: 30_000 });
    const { token, fence } = graceful.acquire("k");
    world.store.mode = "broken";
    graceful.say({ t: "release", id: "r", key: "k", token });
    world.store.mode = "sync";
    const resumed = world.session({ resume: graceful.resume });
    expect(resumed.welcome.claims).toMatchObject([{ key: "k", state: "holding", token, fence }]);
    resumed.ask({ t: "release", key: "k", token });
    expect(resumed.acquire("k").fence).toBeGreaterThan(fence);
  });

  test("late, answers all that waited for that commit and for the next", async () => {
    const world = new World();
    const socket = world.session();
    world.store.mode = "held";
    const calls = [world.acquire("a"), world.acquire("b")];
    await settle();
    calls.push(world.status("c"));
    await settle();
    socket.say({ t: "acquire", id: "x", key: "d" });
    world.store.fail();
    const answers = await Promise.all(calls);
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503]);
    expect(socket.frames("granted")).toEqual([]);
    expect(socket.closedWith?.code).toBe(4500);
  });

  test("when it loads, refuses hello and calls", async () => {
    const world = new World({}, (store) => {
      store.mode = "broken";
    });
    const socket = world.session();
    expect(socket.news()).toMatchObject([{ t: "error", code: "unavailable" }]);
    expect(socket.closedWith?.code).toBe(4500);
    expect((await world.status("k")).status).toBe(503);
  });

  test("without being durable is as bad as a restart: fences go on, and the quarantine begins anew", async () => {
    const world = new World({ quarantineMs: 1000 }, (store) => {
      store.durable = false;
    });
    world.advance(1000);
    const { fence } = world.session().acquire("k");
    world.store.mode = "broken";
    await world.acquire("l", { ttl: 60_000 });
    world.store.mode = "sync";
    const socket = world.session();
    expect(socket.acquire("k", { id: "a" }).t).toBe("queued");
    world.advance(1000);
    expect(socket.frames("granted")[0]!.fence).toBeGreaterThan(fence);
  });
});

describe("a quarantine after the start", () => {
  test("grants nothing before it is over, and then in order", () => {
    const world = new World({ quarantineMs: 2000 });
    const [first, second] = [world.session(), world.session()];
    expect(first.acquire("k", { id: "a" }).t).toBe("queued");
    expect(second.acquire("k", { id: "b" }).t).toBe("queued");
    expect(second.acquire("l", { timeout: 0 }).t).toBe("timeout");
    world.advance(1999.9);
    expect(first.frames("granted")).toEqual([]);
    world.advance(0.1);
    expect(first.frames("granted")).toMatchObject([{ id: "a" }]);
    expect(second.frames("granted")).toEqual([]);
  });

  test("counts from the start of the host, also for spaces that are used later", () => {
    const world = new World({ quarantineMs: 2000 });
    world.advance(1500);
    const late = world.session({ space: "late" });
    expect(late.acquire("k").t).toBe("queued");
    world.advance(500);
    expect(late.frames("granted")).toHaveLength(1);
    expect(world.session({ space: "later" }).acquire("k").t).toBe("granted");
  });
});

describe("spaces that are idle", () => {
  test("are unloaded, and their fences go on even where the store forgets", async () => {
    const world = new World({}, (store) => {
      store.durable = false;
    });
    const socket = world.session();
    const { token, fence } = socket.acquire("k");
    socket.ask({ t: "release", key: "k", token });
    socket.drop();
    world.advance(62_000);
    expect((await world.ask("GET", "/metrics")).text).toContain("latchkey_spaces 0");
    expect(world.session().acquire("k").fence).toBeGreaterThan(fence);
    expect(world.store.loads).toEqual(["default", "default"]);
  });

  test("stay while somebody is connected", async () => {
    const world = new World();
    const socket = world.session({}, { liveness: false });
    world.advance(1_000_000);
    expect(socket.acquire("k").t).toBe("granted");
    expect(world.store.loads).toEqual(["default"]);
  });
});

describe("metrics", () => {
  test("count acquires, releases, waits, sessions and frames in Prometheus' format, without keys, spaces or names", async () => {
    const world = new World();
    const socket = world.session({ space: "my-space" });
    const { token } = socket.acquire("my-key");
    socket.acquire("my-key", { id: "w" });
    socket.acquire("my-key", { timeout: 0 });
    world.advance(200);
    socket.ask({ t: "release", key: "my-key", token });
    await world.acquire("other-key", { ttl: 100 });
    world.advance(100);
    const { headers, text } = await world.ask("GET", "/metrics");
    expect(headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
    for (const line of text.trimEnd().split("\n")) {
      expect(line).toMatch(/^(?:# (?:HELP|TYPE) latchkey_\w+ .+|latchkey_\w+(?:\{\w+="[^"]*"\})? [\d.]+)$/);
    }
    expect(text).toContain('latchkey_acquires_total{result="granted"} 3');
    expect(text).toContain('latchkey_acquires_total{result="timed_out"} 1');
    expect(text).toContain('latchkey_releases_total{reason="released"} 1');
    expect(text).toContain('latchkey_releases_total{reason="expired"} 1');
    expect(text).toContain('latchkey_wait_seconds_bucket{le="0.1"} 2');
    expect(text).toContain('latchkey_wait_seconds_bucket{le="+Inf"} 3');
    expect(text).toContain("latchkey_wait_seconds_sum 0.2");
    expect(text).toContain("latchkey_wait_seconds_count 3");
    expect(text).toContain("latchkey_sessions 1");
    expect(text).toContain("latchkey_holding 1");
    expect(text).toContain('latchkey_frames_total{direction="in"}');
    expect(text).toContain('latchkey_http_responses_total{status="200"} 1');
    for (const name of ["my-key", "my-space", "other-key", token]) expect(text).not.toContain(name);
  });

  test("count a grant once, however often it is told", async () => {
    const world = new World();
    const socket = world.session({ grace: 1000 });
    socket.acquire("k", { id: "a" });
    socket.acquire("k", { id: "a" });
    await world.acquire("l", { request_id: "r" });
    await world.acquire("l", { request_id: "r" });
    expect((await world.ask("GET", "/metrics")).text).toContain('latchkey_acquires_total{result="granted"} 2');
  });

  test("tell what is there now, and nothing of what is over", async () => {
    const world = new World();
    const socket = world.session();
    socket.acquire("k");
    expect((await world.ask("GET", "/metrics")).text).toContain("latchkey_sockets 1");
    socket.drop();
    const { text } = await world.ask("GET", "/metrics");
    for (const name of ["sockets", "sessions", "keys", "holding", "waiting", "http_calls"]) {
      expect(text).toContain(`latchkey_${name} 0`);
    }
  });

  test("count why sockets are closed and heartbeats are missed", async () => {
    const world = new World();
    world.session();
    world.advance(15_000);
    const { text } = await world.ask("GET", "/metrics");
    expect(text).toContain('latchkey_sockets_closed_total{code="4410"} 1');
    expect(text).toContain("latchkey_heartbeats_missed_total 1");
  });
});

const BODIES = { AcquireBody, ExtendBody, ReleaseBody, RevokeBody };
const IDEMPOTENCY_BODIES = { BeginBody, CompleteBody, FailBody, ExtendAttemptBody };

describe("the description of the API", () => {
  test("has the bodies that the schemas check, with the same members and the same that are needed", async () => {
    const { schemas } = (await new World().ask("GET", "/openapi.json")).body.components;
    for (const [name, schema] of Object.entries({ ...BODIES, ...IDEMPOTENCY_BODIES })) {
      const members = Object.entries(schema.entries);
      expect(Object.keys(schemas[name].properties).toSorted()).toEqual(members.map(([member]) => member).toSorted());
      const needed = members.filter(([, entry]) => entry.type !== "optional").map(([member]) => member);
      expect(schemas[name].required.toSorted()).toEqual(needed.toSorted());
    }
  });

  test("refers to nothing that is not in it, and names every problem", async () => {
    const { text, body } = await new World().ask("GET", "/openapi.json");
    for (const [, name] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
      expect(body.components.schemas).toHaveProperty(name!);
    }
    expect(body.components.schemas.Problem.properties.code.enum).toEqual(Object.keys(PROBLEMS));
  });

  test("describes the answers as they are", async () => {
    const world = new World();
    const { schemas } = (await world.ask("GET", "/openapi.json")).body.components;
    const acquired = (await world.acquire("k")).body;
    const extended = (await world.extend("k", { token: acquired.token, ttl: 1000 })).body;
    const key = (await world.status("k")).body;
    for (const [name, body] of Object.entries({ Acquired: acquired, Extended: extended })) {
      expect(Object.keys(body).toSorted()).toEqual(Object.keys(schemas[name].properties).toSorted());
    }
    const record = "/v1/idempotency/k";
    const started = (await world.ask("POST", `${record}/begin`, {})).body;
    expect(Object.keys(started).toSorted()).toEqual(Object.keys(schemas.Started.properties).toSorted());
    for (const state of [started, { attempt: started.attempt, result: 1 }]) {
      if ("result" in state) await world.ask("POST", `${record}/complete`, state);
      const shown = (await world.ask("GET", record)).body;
      expect(Object.keys(schemas.Record.properties)).toEqual(expect.arrayContaining(Object.keys(shown)));
    }
    expect(Object.keys(schemas.Key.properties)).toEqual(expect.arrayContaining(Object.keys(key)));
    expect(Object.keys(schemas.Holder.properties)).toEqual(expect.arrayContaining(Object.keys(key.holders[0])));
  });
});
