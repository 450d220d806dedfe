import { expect, test } from "vitest";
import { FakeSocket, KEYS, World } from "./support/world.ts";

const [PLAIN, , THIEF, OPERATOR] = KEYS.map(({ secret }) => secret) as [string, string, string, string];

/** A fingerprint may be made of what nobody else shall read. */
const PRINT = "card-4242";

/** What may be told of a frame or an answer to anybody but the one who holds. */
function withoutOwn(text: string): string {
  return text.replaceAll(/"(?:token|secret)":"[^"]*"/g, "");
}

test("tokens and secrets are told to who holds and to nobody else, nor to logs and metrics", async () => {
  const world = new World({ keys: KEYS });
  const call = (method: string, path: string, secret: string, body?: unknown): ReturnType<World["ask"]> =>
    world.ask(method, path, body, { headers: { authorization: `Bearer ${secret}` } });

  const holder = world.session({ auth: PLAIN, grace: 10_000, meta: { name: "ada" } });
  const watcher = world.session({ auth: PLAIN });
  const { token } = holder.acquire("k", { id: "a" });
  const own = (await call("POST", "/v1/latch/l/acquire", PLAIN, { ttl: 5000 })).body.token as string;
  const attempt = (await call("POST", "/v1/idempotency/w/begin", PLAIN, { fingerprint: PRINT })).body.attempt as string;
  const secrets = [PRINT, attempt, token, own, holder.welcome.secret, watcher.welcome.secret, PLAIN, THIEF, OPERATOR];

  const toldBefore = world.told.length;
  watcher.acquire("k", { timeout: 0 });
  watcher.status("k");
  watcher.ask({ t: "list" });
  watcher.ask({ t: "release", key: "k", token: "wrong" });
  watcher.ask({ t: "extend", key: "l", token, ttl: 1000 });
  watcher.ask({ t: "revoke", key: "k" });
  watcher.say(`{"t":"release","id":"x","key":"k","token":"${token}"`);
  watcher.say(`{"t":"${token}"}`);
  watcher.ask({ t: "begin", key: "w", fingerprint: "wrong" });
  watcher.ask({ t: "complete", key: "w", attempt: "wrong", result: "x" });
  watcher.ask({ t: "complete", key: "w", attempt, result: "\ud800" });
  watcher.ask({ t: "begin", key: "x", fingerprint: [PRINT] });
  watcher.ask({ t: "acquire", key: "k", token: { token } });
  for (const answer of [
    await call("GET", "/v1/latch/k", PLAIN),
    await call("GET", "/v1/latch", PLAIN),
    await call("POST", "/v1/latch/k/acquire", PLAIN, { timeout: 0 }),
    await call("POST", "/v1/latch/k/release", PLAIN, `{"token":"${token}`),
    await call("POST", "/v1/latch/l/release", PLAIN, { token, request_id: 5 }),
    await call("POST", "/v1/latch/l/release", PLAIN, { token }),
    await call("POST", "/v1/latch/k/extend", PLAIN, { token: own, ttl: 1000 }),
    await call("GET", "/v1/latch/k", `${PLAIN}x`),
    await call("POST", "/v1/idempotency/w/begin", PLAIN, { fingerprint: "wrong" }),
    await call("POST", "/v1/idempotency/w/begin", PLAIN, { fingerprint: PRINT }),
    await call("POST", "/v1/idempotency/w/begin", PLAIN, { fingerprint: { PRINT } }),
    await call("POST", "/v1/idempotency/w/fail", PLAIN, `{"attempt":"${attempt}`),
    await call("POST", "/v1/idempotency/other/fail", PLAIN, { attempt }),
    await call("GET", "/v1/idempotency/w", PLAIN),
    await call("GET", "/metrics", PLAIN),
    await call("DELETE", "/v1/latch/k", OPERATOR, { message: "why" }),
    await call("GET", "/nothing", PLAIN),
  ]) {
    expect(answer.status).toBeGreaterThan(0);
  }
  const thief = new FakeSocket("thief", world.host);
  world.host.opened(thief);
  thief.hello({ auth: THIEF, resume: { session: holder.welcome.session, secret: "guess" } });
  world.store.unreadable.add("w");
  await call("POST", "/v1/idempotency/w/begin", PLAIN, { fingerprint: PRINT });
  world.store.mode = "broken";
  await call("POST", "/v1/latch/m/acquire", PLAIN);
  await world.host.drain();

  const logged = world.errors.map(({ error, where }) => `${where} ${String(error)}`);
  const shown = [...watcher.sent, ...thief.sent, ...world.told.slice(toldBefore), ...logged].map(withoutOwn);
  expect(shown.length).toBeGreaterThan(30);
  for (const secret of secrets) {
    expect(shown.filter((text) => text.includes(secret))).toEqual([]);
  }
  const others = [...watcher.sent, ...thief.sent].filter((text) => text.includes(token) || text.includes(own));
  expect(others).toEqual([]);
  const reasons = world.sockets.map(({ closedWith }) => closedWith?.reason ?? "");
  for (const secret of secrets) expect(reasons.join()).not.toContain(secret);
});
