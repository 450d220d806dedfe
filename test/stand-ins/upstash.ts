/**
 * Upstash's REST interface over a real Redis: what `@upstash/redis` speaks, for tests and for the benchmark, since there
 * is no local Upstash. It answers what that client sends; paths like `/get/key` and tokens in the query are left out.
 * Redis itself is the caller's, and outlives the stand-in.
 *
 *     POST /                      ["SET","a","1"]          {"result":"OK"}  or {"error":"ERR …"}
 *     POST /pipeline              [["GET","a"],["INCR","b"]]  one of those for each
 *     POST /multi-exec            the same, all or nothing
 *     POST /subscribe/<channel>   server-sent events: `data: message,<channel>,<payload>`
 *     POST /psubscribe/<pattern>  `data: pmessage,<pattern>,<channel>,<payload>`
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createClient } from "redis";
import { encoded, type Reply } from "./upstash-replies.ts";
import { UpstashCommands } from "./upstash-commands.ts";

export interface UpstashStandIn extends AsyncDisposable {
  /** `http://127.0.0.1:<port>`. */
  readonly url: string;
  /** What `Authorization: Bearer` must say. */
  readonly token: string;
  /** Ends every subscription without a word, as a proxy on the way does. Resolves with how many there were. */
  cutStreams(): number;
  /** Ends streams, connections and the port; what is under way is answered before. */
  close(): Promise<void>;
}

export interface UpstashOptions {
  /** `redis://…` of a Redis that runs. */
  readonly redisUrl: string;
  /** Default `test-token`. */
  readonly token?: string;
  /** Default: a free one. */
  readonly port?: number;
}

/** Rejects when Redis does not answer or the port is taken. */
export async function startUpstash({
  redisUrl,
  token = "test-token",
  port = 0,
}: UpstashOptions): Promise<UpstashStandIn> {
  const redis = createClient({ url: redisUrl, RESP: 2, socket: { reconnectStrategy: false } });
  redis.on("error", () => undefined);
  await redis.connect();
  const commands = new UpstashCommands(redis);
  const streams = new Set<ServerResponse>();

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (request.method !== "POST") return send(response, 405, { error: "ERR method not allowed" });
    if (request.headers.authorization !== `Bearer ${token}`) return send(response, 401, { error: "Unauthorized" });
    const isEncoded = request.headers["upstash-encoding"] === "base64";
    const path = request.url ?? "/";
    const stream = /^\/(p?)subscribe\/(.+)$/.exec(path);
    if (stream !== null) {
      streams.add(response);
      response.once("close", () => streams.delete(response));
      return subscribe(redis, response, stream[1] === "p", decodeURIComponent(stream[2] ?? ""));
    }
    const body = await readJson(request);
    const replies = await commands.answer(path, body);
    // Only a single error is an error of the request: a pipeline goes on behind one.
    const status = replies === undefined ? 404 : !Array.isArray(replies) && "error" in replies ? 400 : 200;
    send(response, status, encoded(replies ?? { error: `ERR there is no ${path}` }, isEncoded));
  };

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      // A Redis that went away, in the main; the client tries again.
      if (response.headersSent) response.destroy();
      else send(response, 500, { error: `ERR ${error instanceof Error ? error.message : String(error)}` });
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, "127.0.0.1", resolve);
  });

  const cutStreams = (): number => {
    const count = streams.size;
    for (const stream of streams) stream.end();
    return count;
  };
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => {
      server.close(() => resolve());
    });
    cutStreams();
    server.closeIdleConnections();
    await closed;
    if (redis.isOpen) await redis.close();
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, token, cutStreams, close, [Symbol.asyncDispose]: close };
}

/** A connection to Redis of its own, until the caller hangs up or the stream is cut. */
async function subscribe(
  redis: { duplicate(): ReturnType<typeof createClient> },
  response: ServerResponse,
  isPattern: boolean,
  channel: string,
): Promise<void> {
  const listener = redis.duplicate();
  listener.on("error", () => response.end());
  await listener.connect();
  response.once("close", () => listener.destroy());
  if (response.destroyed) return listener.destroy();
  const event = (...fields: readonly string[]): void => void response.write(`data: ${fields.join(",")}\n\n`);
  if (isPattern) await listener.pSubscribe(channel, (text, from) => event("pmessage", channel, from, text));
  else await listener.subscribe(channel, (text, from) => event("message", from, text));
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  event(isPattern ? "psubscribe" : "subscribe", channel, "1");
}

function send(response: ServerResponse, status: number, body: Reply | readonly Reply[]): void {
  response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    return undefined;
  }
}
