import { describe, expect, test } from "vitest";
import { isSameSecret } from "../../src/host/auth.ts";
import type { Host } from "../../src/host/host.ts";
import { KEYS, ORIGIN, World } from "./support/world.ts";

const [PLAIN, PINNED, THIEF, OPERATOR] = KEYS.map(({ secret }) => secret) as [string, string, string, string];
const bearer = (secret: string): { headers: Record<string, string> } => ({
  headers: { authorization: `Bearer ${secret}` },
});

/** Both ways in: an HTTP call and an upgrade. */
async function statuses(host: Host, url: string, headers: Record<string, string>): Promise<(number | undefined)[]> {
  const { host: name, ...rest } = headers;
  const target = name === undefined ? url : url.replace(/\/\/[^/]+/, `//${name}`);
  const call = await host.fetch(new Request(`${target}/v1/latch/k`, { headers: rest }));
  const admission = host.admit(new Request(`${target}/v1/session`, { headers: rest }));
  return [call.status, admission instanceof Response ? admission.status : undefined];
}

describe("API keys over HTTP", () => {
  test.each([
    ["none", {}],
    ["an empty one", { authorization: "Bearer " }],
    ["a wrong one", { authorization: "Bearer wrong" }],
    ["another scheme", { authorization: `Basic ${PLAIN}` }],
    ["the key without its scheme", { authorization: PLAIN }],
    ["two keys", { authorization: `Bearer ${PLAIN} ${PLAIN}` }],
    ["a prefix of one", { authorization: `Bearer ${PLAIN.slice(0, -1)}` }],
  ])("are needed where there are any: %s is 401", async (_, headers) => {
    const world = new World({ keys: KEYS });
    const answer = await world.acquire("k", {}, { headers });
    expect(answer).toMatchObject({ status: 401, body: { code: "unauthenticated", retryable: false } });
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
  });

  test.each(["Bearer", "bearer", "BEARER"])("are shown with the scheme in any case: %s", async (scheme) => {
    const world = new World({ keys: KEYS });
    expect((await world.acquire("k", {}, { headers: { authorization: `${scheme} ${PLAIN}` } })).status).toBe(200);
  });

  test("bound to a space open it without naming it, and no other", async () => {
    const world = new World({ keys: KEYS });
    world.session({ space: "pinned", auth: OPERATOR }).acquire("k");
    expect((await world.ask("GET", "/v1/latch/k", undefined, bearer(PINNED))).body.status).toBe("held");
    expect((await world.ask("GET", "/v1/latch/k?space=pinned", undefined, bearer(PINNED))).status).toBe(200);
    const other = await world.ask("GET", "/v1/latch/k?space=default", undefined, bearer(PINNED));
    expect(other).toMatchObject({ status: 403, body: { code: "forbidden" } });
  });

  test("without the permission neither steal nor revoke", async () => {
    const world = new World({ keys: KEYS });
    const session = world.session({ auth: PLAIN });
    session.acquire("k");
    const { session: name } = session.welcome;
    for (const [method, path, body, allowed] of [
      ["POST", "/v1/latch/k/acquire", { steal: true }, THIEF],
      ["DELETE", "/v1/latch/k", undefined, OPERATOR],
      ["DELETE", `/v1/session/${name}`, undefined, OPERATOR],
    ] as const) {
      for (const secret of [PLAIN, THIEF, OPERATOR].filter((other) => other !== allowed)) {
        const answer = await world.ask(method, path, body, bearer(secret));
        expect(answer).toMatchObject({ status: 403, body: { code: "forbidden" } });
      }
      expect((await world.ask(method, path, body, bearer(allowed))).status).toBe(200);
    }
  });

  test("are needed for metrics, not for health, readiness and the description", async () => {
    const world = new World({ keys: KEYS });
    expect((await world.ask("GET", "/metrics")).status).toBe(401);
    expect((await world.ask("GET", "/metrics", undefined, bearer(PLAIN))).status).toBe(200);
    for (const path of ["/healthz", "/readyz", "/openapi.json"])
      expect((await world.ask("GET", path)).status).toBe(200);
  });

  test("are checked before anything else is looked at", async () => {
    const world = new World({ keys: KEYS });
    expect((await world.ask("POST", "/v1/latch/%zz/acquire?space=!", "{")).status).toBe(401);
    expect((await world.ask("GET", "/v1/nothing")).status).toBe(401);
  });

  test("that share a name share its request ids: a key can be replaced without a gap", async () => {
    const keys = [
      { name: "app", secret: "old-secret", permissions: [] },
      { name: "app", secret: "new-secret", permissions: [] },
    ];
    const world = new World({ keys });
    const call = (secret: string): ReturnType<World["ask"]> =>
      world.acquire("k", {}, { headers: { authorization: `Bearer ${secret}`, "idempotency-key": "r" } });
    expect((await call("new-secret")).body.token).toBe((await call("old-secret")).body.token);
  });

  test("are compared whole", () => {
    expect(isSameSecret("abc", "abc")).toBe(true);
    for (const shown of ["", "ab", "abd", "abcd", "abcabc", "äbc"]) expect(isSameSecret(shown, "abc")).toBe(false);
  });
});

describe("the rate of HTTP calls", () => {
  test("is counted by credential: past it 429 with Retry-After, a moment later it goes on", async () => {
    const world = new World({ keys: KEYS, ratePerSecond: 2 });
    const call = (secret: string): ReturnType<World["ask"]> =>
      world.ask("GET", "/v1/latch/k", undefined, bearer(secret));
    expect([(await call(PLAIN)).status, (await call(PLAIN)).status]).toEqual([200, 200]);
    const answer = await call(PLAIN);
    expect(answer).toMatchObject({ status: 429, body: { code: "limit", limit: "rate", retryable: true } });
    expect(answer.headers.get("retry-after")).toBe("1");
    expect((await call(THIEF)).status).toBe(200);
    world.advance(500);
    expect((await call(PLAIN)).status).toBe(200);
  });

  test("does not count what tells of the host's health", async () => {
    const world = new World({ ratePerSecond: 1 });
    for (let i = 0; i < 5; i++) expect((await world.ask("GET", "/healthz")).status).toBe(200);
  });
});

describe("origins", () => {
  const settings = { keys: KEYS, origins: ["https://app.example.com", "chrome-extension://abc"] };

  test.each([
    "https://evil.example",
    "https://app.example.com.evil.example",
    "https://app.example.co",
    "https://xapp.example.com",
    "http://app.example.com",
    "https://app.example.com:8443",
    "https://APP.example.com",
    "https://app.example.com/",
    "null",
    "",
    "localhost:8787",
    "//localhost:8787",
  ])("that are not listed are 403 before anything happens, on both ways in: %j", async (origin) => {
    const world = new World(settings);
    const headers = { origin, authorization: `Bearer ${PLAIN}` };
    expect(await statuses(world.host, ORIGIN, headers)).toEqual([403, 403]);
    const simple = { ...headers, "content-type": "text/plain" };
    const answer = await world.acquire("k", "{}", { headers: simple });
    expect(answer).toMatchObject({ status: 403, body: { code: "forbidden" } });
    expect(answer.headers.has("access-control-allow-origin")).toBe(false);
    expect((await world.ask("GET", "/v1/latch/k", undefined, bearer(PLAIN))).body.status).toBe("free");
  });

  test.each(["https://app.example.com", "chrome-extension://abc", ORIGIN, "https://localhost:8787"])(
    "that are listed or the host's own are served, and may read the answer: %s",
    async (origin) => {
      const world = new World(settings);
      const headers = { origin, authorization: `Bearer ${PLAIN}` };
      expect(await statuses(world.host, ORIGIN, headers)).toEqual([200, undefined]);
      const answer = await world.acquire("k", {}, { headers });
      expect(answer.headers.get("access-control-allow-origin")).toBe(origin);
      expect(answer.headers.get("access-control-expose-headers")?.toLowerCase()).toContain("retry-after");
      expect(answer.headers.get("vary")?.toLowerCase()).toContain("origin");
    },
  );

  test("that may read answers may read problems as well", async () => {
    const world = new World(settings);
    const answer = await world.acquire("k", {}, { headers: { origin: "https://app.example.com" } });
    expect(answer.status).toBe(401);
    expect(answer.headers.get("access-control-allow-origin")).toBe("https://app.example.com");
  });

  test("are answered when the browser asks first", async () => {
    const world = new World(settings);
    const ask = (origin: string): ReturnType<World["ask"]> =>
      world.ask("OPTIONS", "/v1/latch/k/acquire", undefined, {
        headers: {
          origin,
          "access-control-request-method": "POST",
          "access-control-request-headers": "authorization,content-type,idempotency-key",
        },
      });
    const { status, headers } = await ask("https://app.example.com");
    expect(status).toBe(204);
    expect(headers.get("access-control-allow-origin")).toBe("https://app.example.com");
    expect(headers.get("access-control-allow-methods")).toContain("POST");
    expect(headers.get("access-control-allow-headers")?.toLowerCase()).toContain("idempotency-key");
    expect((await ask("https://evil.example")).status).toBe(403);
  });

  test("are missing where no page is: native clients are served", async () => {
    const world = new World(settings);
    expect(await statuses(world.host, ORIGIN, { authorization: `Bearer ${PLAIN}` })).toEqual([200, undefined]);
  });
});

describe("without keys", () => {
  test.each([
    ["localhost:8787", true],
    ["LOCALHOST", true],
    ["127.0.0.1:80", true],
    ["127.8.9.10", true],
    ["[::1]:8787", true],
    ["evil.example", false],
    ["localhost.evil.example", false],
    ["127.0.0.1.evil.example", false],
    ["127.evil.example", false],
    ["192.168.0.1", false],
    ["[::2]", false],
    ["0.0.0.0", false],
  ])("only loopback names are served, so that no page can lend the host its own: %s", async (name, isServed) => {
    const world = new World();
    const expected = isServed ? [200, undefined] : [403, 403];
    expect(await statuses(world.host, "http://x", { host: name })).toEqual(expected);
  });

  test("the Host header decides, where there is one", async () => {
    const world = new World();
    const request = new Request("http://localhost/v1/latch/k");
    const headers = new Headers({ host: "evil.example" });
    // Some runtimes drop a Host header from a request that is made by hand.
    Object.defineProperty(request, "headers", { value: headers });
    expect((await world.host.fetch(request)).status).toBe(403);
  });

  test("every name is served where the settings say so, and where there are keys", async () => {
    const open = new World({ loopbackHostsOnly: false });
    expect(await statuses(open.host, "http://lan.example", {})).toEqual([200, undefined]);
    const keyed = new World({ keys: KEYS });
    const headers = { authorization: `Bearer ${PLAIN}` };
    expect(await statuses(keyed.host, "http://lan.example", headers)).toEqual([200, undefined]);
  });

  test("a page of the host's own name is its own, another is not", async () => {
    const world = new World();
    expect(await statuses(world.host, ORIGIN, { origin: ORIGIN })).toEqual([200, undefined]);
    expect(await statuses(world.host, ORIGIN, { origin: "http://localhost:3000" })).toEqual([403, 403]);
  });
});
