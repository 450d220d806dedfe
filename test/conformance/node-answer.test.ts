import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { afterAll, describe, expect, test } from "vitest";
import { answerer } from "../../runtimes/node-answer.ts";
import { KEYS, World } from "../host/support/world.ts";

const ends: (() => void)[] = [];
afterAll(() => {
  for (const end of ends) end();
});

/** The same world behind the short way, and behind the web's types alone. */
async function bothWays(): Promise<readonly Served[]> {
  const served = async (listen: (world: World) => RequestListener): Promise<Served> => {
    const world = new World({ keys: KEYS });
    const server = createServer(listen(world)).listen(0, "127.0.0.1");
    ends.push(() => server.close());
    await once(server, "listening");
    return { world, port: (server.address() as AddressInfo).port };
  };
  return Promise.all([
    served(({ host }) => answerer({ host, onError: fail }, { overrideGlobalObjects: false })),
    served(({ host }) => {
      const listener = getRequestListener((request) => host.fetch(request), { overrideGlobalObjects: false });
      return (incoming, outgoing) => void listener(incoming, outgoing).catch(fail);
    }),
  ]);
}

interface Served {
  readonly world: World;
  readonly port: number;
}

function fail(error: unknown): never {
  throw error;
}

/** One call on a connection of its own; what came back, without the date. */
async function call(port: number, text: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  socket.write(text, "latin1");
  let answer = "";
  for await (const part of socket.setEncoding("latin1")) answer += String(part);
  const [head = "", body = ""] = answer.split("\r\n\r\n");
  const [status, ...headers] = head.split("\r\n");
  const told = headers
    .map((line) => line.toLowerCase())
    .filter((line) => !/^(?:date|connection|keep-alive)/.test(line));
  return [status, ...told.sort(), body].join("\n");
}

const AUTHORIZATION = "authorization: Bearer plain-secret-0001\r\n";

function post(target: string, body: string, headers: string = AUTHORIZATION): string {
  const length = /content-length|transfer-encoding/i.test(headers) ? "" : `content-length: ${body.length}\r\n`;
  return `POST ${target} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n${headers}${length}\r\n${body}`;
}

const TARGETS = [
  "/v1/latch/k/acquire",
  "/v1/latch/orders%2F42/acquire",
  "/v1/latch/%C3%A9%E2%82%AC/acquire",
  "/v1/latch//acquire",
  "/v1/latch/%ff/acquire",
  "/v1/latch/../acquire",
  "/v1/latch/./acquire",
  "/v1/latch/%2e%2E/acquire",
  "/v1/latch/.hidden/acquire",
  "/v1/latch/a\\b/acquire",
  "/v1/latch/a;b=c/acquire?space=other",
  "/v1/latch/k/acquire?space=no%20space",
  "/v1/latch/k/acquire?space=a&space=b",
  "/v1/latch/k/acquire?space=sp%61ce",
  "/v1/latch/k/acquire/more",
  "/v1/latch/k/unknown",
  `/v1/latch/${"x".repeat(255)}/acquire`,
  `/v1/latch/${"x".repeat(256)}/acquire`,
  "http://localhost/v1/latch/k/acquire",
];

describe("a call on the short way is answered as by way of the web's types", () => {
  test.each(TARGETS)("whatever its target: %s", async (target) => {
    const [short, long] = await Promise.all((await bothWays()).map(({ port }) => call(port, post(target, "{}"))));
    expect(short).toBe(long);
  });

  test.each([
    ["none", "", ""],
    ["spaces", " ", AUTHORIZATION],
    ["no JSON", "{", AUTHORIZATION],
    ["no object", "[]", AUTHORIZATION],
    ["a wrong member", '{"ttl":1}', AUTHORIZATION],
    ["no UTF-8", '{"meta":"\xff"}', AUTHORIZATION],
    ["UTF-8", '{"meta":"\xe2\x82\xac"}', AUTHORIZATION],
    ["a byte order mark", "\xef\xbb\xbf{}", AUTHORIZATION],
    ["in chunks", "2\r\n{}\r\n0\r\n\r\n", `${AUTHORIZATION}transfer-encoding: chunked\r\n`],
    ["that is longer than may be", " ".repeat(65_537), AUTHORIZATION],
    ["as long as may be", " ".repeat(65_536), AUTHORIZATION],
  ])("whatever its body: %s", async (_what, body, headers) => {
    const [short, long] = await Promise.all(
      (await bothWays()).map(({ port }) => call(port, post("/v1/latch/k/acquire", body, headers))),
    );
    expect(short).toBe(long);
  });

  test.each([
    ["without a key", ""],
    ["with a wrong key", "authorization: Bearer wrong\r\n"],
    ["with two keys", AUTHORIZATION + AUTHORIZATION],
    ["with a name in capitals", "AUTHORIZATION: Bearer plain-secret-0001\r\n"],
    ["of a page", `${AUTHORIZATION}origin: http://localhost\r\n`],
    ["of another page", `${AUTHORIZATION}origin: http://elsewhere.example\r\n`],
    ["with a request id", `${AUTHORIZATION}idempotency-key: "r"\r\n`],
    ["with two request ids", `${AUTHORIZATION}idempotency-key: r\r\nidempotency-key: s\r\n`],
    ["with an id that is none", `${AUTHORIZATION}idempotency-key: "\r\n`],
  ])("whatever its headers: %s", async (_what, headers) => {
    const [short, long] = await Promise.all(
      (await bothWays()).map(({ port }) => call(port, post("/v1/latch/k/acquire", '{"ttl":5000}', headers))),
    );
    expect(short).toBe(long);
  });
});

describe("a caller on the short way", () => {
  const waiting = async ({ world, port }: Served): Promise<ReturnType<typeof connect>> => {
    const socket = connect(port, "127.0.0.1");
    socket.write(post("/v1/latch/k/acquire", "{}"));
    await expect.poll(async () => (await status(world)).body.waiting as number).toBe(1);
    return socket;
  };
  const status = (world: World): ReturnType<World["ask"]> =>
    world.ask("GET", "/v1/latch/k", undefined, { headers: { authorization: "Bearer plain-secret-0001" } });

  test("that hangs up while it waits leaves the queue", async () => {
    const [short] = await bothWays();
    const session = short!.world.session({ auth: "plain-secret-0001" });
    session.acquire("k");
    const socket = await waiting(short!);
    socket.destroy();
    await expect.poll(async () => (await status(short!.world)).body.waiting as number).toBe(0);
  });

  test("that is gone when its answer is written has its grant taken back", async () => {
    const [short] = await bothWays();
    const { world } = short!;
    const session = world.session({ auth: "plain-secret-0001" });
    const { token } = session.acquire("k");
    const socket = await waiting(short!);
    socket.resetAndDestroy();
    session.ask({ t: "release", key: "k", token });
    await expect.poll(async () => (await status(world)).body.status as string).toBe("free");
  });
});
