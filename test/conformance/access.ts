import { afterAll, beforeAll, expect, test } from "vitest";
import { Caller } from "./caller.ts";
import { type Server, startServer } from "./server.ts";
import { openSession, openSocket, type OpenOptions } from "./socket.ts";
import { freshKey, type Subject } from "./subject.ts";

const PLAIN = "plain-key-0001";
const PINNED = "pinned-key-0002";
const THIEF = "thief-key-0003";
const OPERATOR = "operator-key-0004";
const ALLOWED_ORIGIN = "https://app.example.com";
const STRANGE_ORIGINS = [
  "https://evil.example",
  "https://app.example.com.evil.example",
  "https://app.example.co",
  "http://app.example.com",
  "https://app.example.com:8443",
  "null",
];

const bearer = (key: string): OpenOptions => ({ headers: { authorization: `Bearer ${key}` } });
const offered = (key: string): OpenOptions => ({
  protocols: ["latchkey.v1", `latchkey.bearer.${Buffer.from(key).toString("base64url")}`],
});

export function access({ runtime }: Subject): void {
  let server: Server;

  beforeAll(async () => {
    const env = {
      LATCHKEY_KEYS: `${PLAIN},${PINNED};space=pinned,${THIEF};can=steal,${OPERATOR};can=operate`,
      LATCHKEY_ORIGINS: ALLOWED_ORIGIN,
    };
    server = await startServer(runtime, { env });
  });

  afterAll(() => server[Symbol.asyncDispose]());

  const caller = (auth?: string): Caller => new Caller(server.url, auth === undefined ? {} : { auth });

  test.each([undefined, "wrong-key-0001", "", `${PLAIN}x`])(
    "an HTTP call without a valid key is 401: %s",
    async (key) => {
      const answer = await caller(key).acquire(freshKey());
      expect(answer).toMatchObject({ status: 401, body: { code: "unauthenticated", retryable: false } });
      expect(JSON.stringify(answer.body)).not.toContain("key-0001");
    },
  );

  test("the published calls work with a bearer key", async () => {
    const key = freshKey();
    const { status, body } = await caller(PLAIN).acquire(key, { ttl: 10_000, timeout: 10_000 });
    expect(status).toBe(200);
    expect((await caller(PLAIN).acquire(key, { ttl: 10_000, timeout: 10_000, token: body.token })).status).toBe(200);
    expect((await caller(PLAIN).release(key, { token: body.token })).body).toEqual({ status: "released" });
  });

  test.each([
    ["the Authorization header", bearer(PLAIN), {}],
    ["a subprotocol", offered(PLAIN), {}],
    ["auth in hello", {}, { auth: PLAIN }],
    ["the header, which goes before a wrong subprotocol", { ...offered("wrong-key-0001"), ...bearer(PLAIN) }, {}],
    ["the header, which goes before a wrong hello", bearer(PLAIN), { auth: "wrong-key-0001" }],
  ])("a session shows its key by %s", async (_, options, hello) => {
    using session = await openSession(server.socketUrl, hello, options);
    await session.acquire(freshKey());
  });

  test.each([
    ["no key", {}, {}],
    ["a wrong header", bearer("wrong-key-0001"), {}],
    ["a wrong header and a right hello", bearer("wrong-key-0001"), { auth: PLAIN }],
    ["a wrong subprotocol", offered("wrong-key-0001"), {}],
    ["a wrong hello", {}, { auth: "wrong-key-0001" }],
  ])("a session without a valid key is closed 4401: %s", async (_, options, hello) => {
    using socket = await openSocket(server.socketUrl, options);
    socket.send({ t: "hello", v: 1, ...hello });
    expect((await socket.closed).code).toBe(4401);
  });

  test("a subprotocol that carries a key is never echoed", async () => {
    using socket = await openSocket(server.socketUrl, offered(PLAIN));
    expect(socket.protocol).toBe("latchkey.v1");
  });

  test("a pinned key opens its own space and no other", async () => {
    using socket = await openSocket(server.socketUrl, bearer(PINNED));
    expect(await socket.hello()).toMatchObject({ space: "pinned" });
    const key = freshKey();
    await socket.acquire(key);
    expect((await caller(PINNED).status(key)).body.status).toBe("held");
    expect((await caller(PLAIN).status(key)).body.status).toBe("free");

    using other = await openSocket(server.socketUrl, bearer(PINNED));
    other.send({ t: "hello", v: 1, space: "default" });
    expect((await other.closed).code).toBe(4403);
    const elsewhere = new Caller(server.url, { auth: PINNED, space: "default" });
    expect(await elsewhere.status(key)).toMatchObject({ status: 403, body: { code: "forbidden" } });
  });

  test("stealing needs the permission to steal", async () => {
    const key = freshKey();
    using session = await openSession(server.socketUrl, {}, bearer(PLAIN));
    const held = await session.acquire(key);
    const refused = await session.ask({ t: "acquire", key, steal: true }, "refused");
    expect(refused).toMatchObject({ code: "forbidden", retryable: false });
    const forbidden = { status: 403, body: { code: "forbidden" } };
    expect(await caller(PLAIN).acquire(key, { steal: true })).toMatchObject(forbidden);
    expect(await caller(OPERATOR).acquire(key, { steal: true })).toMatchObject(forbidden);
    expect((await session.status(key)).holders).toMatchObject([{ fence: held.fence }]);
    expect((await caller(THIEF).acquire(key, { steal: true })).status).toBe(200);
    expect(await session.next("lost", held.id)).toMatchObject({ reason: "stolen" });
  });

  test("revoking needs the permission to operate", async () => {
    const key = freshKey();
    using socket = await openSocket(server.socketUrl, bearer(THIEF));
    const { session } = await socket.hello();
    const held = await socket.acquire(key);
    for (const frame of [
      { t: "revoke", key },
      { t: "revoke_session", session },
    ]) {
      expect((await socket.ask(frame, "refused")).code).toBe("forbidden");
    }
    const forbidden = { status: 403, body: { code: "forbidden" } };
    expect(await caller(THIEF).revoke(key)).toMatchObject(forbidden);
    expect(await caller(THIEF).request("DELETE", `/v1/session/${session}`)).toMatchObject(forbidden);
    expect((await socket.status(key)).holders).toMatchObject([{ fence: held.fence }]);
    expect((await caller(OPERATOR).revoke(key)).body).toEqual({ status: "revoked", count: 1 });
  });

  test("request ids belong to a credential", async () => {
    const [key, other, id] = [freshKey(), freshKey(), freshKey()];
    const answers = [
      await caller(PLAIN).acquire(key, { request_id: id }),
      await caller(THIEF).acquire(other, { request_id: id }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  });

  test.each(STRANGE_ORIGINS)(
    "a page of an origin that is not listed opens no session and sends no call: %s",
    async (origin) => {
      const headers = { origin, authorization: `Bearer ${PLAIN}` };
      await expect(openSocket(server.socketUrl, { headers })).rejects.toThrow("403");
      const key = freshKey();
      const answer = await caller(PLAIN).acquire(key, {}, { headers: { origin } });
      expect(answer).toMatchObject({ status: 403, body: { code: "forbidden" } });
      expect((await caller(PLAIN).status(key)).body.status).toBe("free");
    },
  );

  test("a browser that asks first is told which pages may call", async () => {
    const preflight = async (origin: string): Promise<string | null> => {
      const { headers } = await caller().request("OPTIONS", "/v1/latch/k/acquire", undefined, {
        headers: { origin, "access-control-request-method": "POST" },
      });
      return headers.get("access-control-allow-origin");
    };
    expect(await preflight(ALLOWED_ORIGIN)).toBe(ALLOWED_ORIGIN);
    for (const origin of STRANGE_ORIGINS) expect(await preflight(origin)).toBeNull();
  });

  test("a listed origin, and the server's own, may do both", async () => {
    for (const origin of [ALLOWED_ORIGIN, server.url]) {
      const headers = { origin, authorization: `Bearer ${PLAIN}` };
      using session = await openSession(server.socketUrl, {}, { headers });
      await session.acquire(freshKey());
      expect((await caller(PLAIN).acquire(freshKey(), {}, { headers: { origin } })).status).toBe(200);
    }
  });

  test("without keys a server answers only to loopback names, so that no page can lend it its own", async () => {
    await using open = await startServer(runtime);
    const port = new URL(open.url).port;
    await expect(openSocket(open.socketUrl, { headers: { host: `evil.example:${port}` } })).rejects.toThrow("403");
    using session = await openSession(open.socketUrl, {}, { headers: { host: `localhost:${port}` } });
    await session.acquire(freshKey());
    const strange = { headers: { origin: "https://evil.example" } };
    await expect(openSocket(open.socketUrl, strange)).rejects.toThrow("403");
    expect((await new Caller(open.url).acquire(freshKey(), {}, strange)).status).toBe(403);
  });

  test("nothing that the server prints contains a key", () => {
    for (const key of [PLAIN, PINNED, THIEF, OPERATOR, "wrong-key-0001"]) {
      expect(server.process.output).not.toContain(key);
    }
  });
}
