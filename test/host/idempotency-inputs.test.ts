/** What callers may say about idempotent work, and what saying it twice comes to. */

import { describe, expect, test } from "vitest";
import { settle } from "./support/time.ts";
import { type Answer, type AskOptions, ORIGIN, World } from "./support/world.ts";

const AT = "/v1/idempotency/k";

function post(world: World, verb: string, body: unknown = {}, options: AskOptions = {}): Promise<Answer> {
  return world.ask("POST", `${AT}/${verb}`, body, options);
}

async function started(world: World, body: object = {}): Promise<string> {
  const answer = await post(world, "begin", body);
  expect(answer.status).toBe(201);
  return answer.body.attempt;
}

async function raw(world: World, method: string, path: string, init: RequestInit = {}): Promise<Response> {
  return world.host.fetch(new Request(ORIGIN + path, { method, ...init }));
}

describe.each(["begin", "complete", "fail", "extend"])("the body of %s", (verb) => {
  test.each(["{", "{}}", '{"attempt":', "\u0000"])("must be JSON: %j", async (body) => {
    const answer = await raw(new World(), "POST", `${AT}/${verb}`, { body });
    expect([answer.status, (await answer.json()) as object]).toMatchObject([400, { code: "bad_json" }]);
  });

  test.each(["[]", "null", "7", '"text"'])("must be an object: %s", async (body) => {
    const answer = await raw(new World(), "POST", `${AT}/${verb}`, { body });
    expect([answer.status, (await answer.json()) as object]).toMatchObject([400, { code: "bad_request" }]);
  });
});

test.each([
  ["begin", "fingerprint", [1, null, {}, ["f"]]],
  ["begin", "ttl", ["1000", 1000.5, null, true, -1]],
  ["begin", "lease", ["1000", 1000.5, null, true, -1]],
  ["begin", "timeout", ["0", 0.5, null, true]],
  ["begin", "request_id", [7, null, "", {}]],
  ["complete", "attempt", [7, null, {}, ""]],
  ["fail", "attempt", [7, null, {}, ""]],
  ["extend", "attempt", [7, null, {}, ""]],
  ["extend", "lease", ["1000", 1000.5, null, -1]],
] as const)("%s takes no %s of another type: %j", async (verb, field, values) => {
  const world = new World();
  const right = { begin: {}, complete: { result: 1 }, fail: {}, extend: { lease: 1000 } }[verb];
  for (const value of values) {
    const answer = await post(world, verb, { attempt: "a", ...right, [field]: value });
    expect(answer).toMatchObject({ status: 400, body: { code: "bad_request" } });
    expect(answer.body.detail).toContain(field);
  }
  expect((await world.ask("GET", AT)).body.status).toBe("none");
});

test.each([
  ["complete", { result: 1 }],
  ["fail", {}],
  ["extend", { lease: 1000 }],
])("the attempt of %s has at most 128 characters", async (verb, rest) => {
  const world = new World();
  expect((await post(world, verb, { attempt: "a".repeat(128), ...rest })).status).toBe(410);
  expect((await post(world, verb, { attempt: "a".repeat(129), ...rest })).status).toBe(400);
});

test.each([
  ["POST", `${AT}/complete`],
  ["DELETE", AT],
])("the attempt in the header of %s %s has 1 to 128 characters", async (method, path) => {
  const world = new World();
  await started(world);
  for (const [attempt, status] of [
    ["a".repeat(128), 410],
    ["a".repeat(129), 400],
    ["", 400],
  ] as const) {
    expect((await raw(world, method, path, { headers: { "latchkey-attempt": attempt } })).status).toBe(status);
  }
  expect((await world.ask("GET", AT)).body.status).toBe("running");
});

test.each([
  [100, 99],
  [86_400_000, 86_400_001],
])("extend takes a lease of %i ms, and not of %i", async (inside, outside) => {
  const world = new World();
  const attempt = await started(world);
  expect(await post(world, "extend", { attempt, lease: outside })).toMatchObject({ status: 400 });
  expect((await post(world, "extend", { attempt, lease: inside })).body).toMatchObject({ expires_in: inside });
});

test("no fingerprint and an empty one are the same", async () => {
  const world = new World();
  await started(world);
  expect((await post(world, "begin", { fingerprint: "" })).body.code).toBe("in_progress");
});

test("bytes without a content type are bytes, and no page is to find anything else in what is replayed", async () => {
  const world = new World();
  const attempt = await started(world);
  const body = new TextEncoder().encode("<script>alert(1)</script>");
  expect((await raw(world, "POST", `${AT}/complete`, { headers: { "latchkey-attempt": attempt }, body })).status).toBe(
    200,
  );
  const { headers } = await raw(world, "POST", `${AT}/begin`);
  expect(Object.fromEntries(headers)).toMatchObject({
    "content-type": "application/octet-stream",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "content-security-policy": "sandbox; default-src 'none'",
  });
});

test("an acquire and a begin that wait under one id are two", async () => {
  const world = new World();
  const attempt = await started(world);
  const held = await world.acquire("k");
  const locked = world.acquire("k", { request_id: "r", timeout: 5000 });
  const begun = post(world, "begin", { request_id: "r", timeout: 5000 });
  await settle();
  await post(world, "fail", { attempt });
  expect(await begun).toMatchObject({ status: 201, body: { number: 2 } });
  await world.ask("POST", "/v1/latch/k/release", { token: held.body.token });
  expect((await locked).body.status).toBe("acquired");
});

test("who has hung up before anything was done starts nothing", async () => {
  const world = new World();
  expect((await post(world, "begin", {}, { signal: AbortSignal.abort() })).status).not.toBe(201);
  expect((await world.ask("GET", AT)).body).toMatchObject({ status: "none" });
});

describe("a call whose answer was lost is sent again:", () => {
  test("begin, complete and forget come to what they came to", async () => {
    const world = new World();
    const attempt = await started(world, { request_id: "r" });
    expect(await started(world, { request_id: "r" })).toBe(attempt);
    const complete = { attempt, result: { paid: true } };
    expect((await post(world, "complete", complete)).body).toEqual({ status: "completed" });
    expect((await post(world, "complete", complete)).body).toEqual({ status: "completed", already: true });
    // Its own first answer was a start, but there is nothing left to start.
    expect((await post(world, "begin", { request_id: "r" })).text).toBe('{"paid":true}');
    const forget = (): Promise<Answer> =>
      world.ask("DELETE", AT, undefined, { headers: { "latchkey-attempt": attempt } });
    expect((await forget()).body).toEqual({ status: "forgotten", existed: true });
    expect((await forget()).body).toEqual({ status: "forgotten", existed: false });
  });

  test("extend counts from the later one", async () => {
    const world = new World();
    const attempt = await started(world, { lease: 1000 });
    for (let i = 0; i < 2; i++) {
      world.advance(900);
      expect((await post(world, "extend", { attempt, lease: 1000 })).body.expires_in).toBe(1000);
    }
  });

  test("fail finds that the attempt is over, and touches no other", async () => {
    const world = new World();
    const attempt = await started(world);
    expect((await post(world, "fail", { attempt })).status).toBe(200);
    expect(await post(world, "fail", { attempt })).toMatchObject({ status: 410, body: { reason: "unknown" } });
    const next = await started(world);
    expect(await post(world, "fail", { attempt })).toMatchObject({ status: 410, body: { reason: "superseded" } });
    expect((await post(world, "complete", { attempt: next, result: 1 })).status).toBe(200);
  });
});
