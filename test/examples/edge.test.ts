import { fileURLToPath } from "node:url";
import { createClient } from "redis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Calm, goesOn } from "../conformance/calm.ts";
import { Caller } from "../conformance/caller.ts";
import { Child } from "../conformance/child.ts";
import { bun, deno, node } from "../conformance/runtimes.ts";
import { type Server, startServer } from "../conformance/server.ts";
import { openSession, type TestSocket } from "../conformance/socket.ts";
import { hasRedisServer, type RedisServer, startRedisServer } from "../fleet/support/redis-server.ts";
import { startUpstash, type UpstashStandIn } from "../stand-ins/upstash.ts";

const EXAMPLE = fileURLToPath(new URL("../../examples/edge/function.ts", import.meta.url));
const RENDER_MS = 500;

/** As the platforms run a module whose default export has a `fetch`. */
const EDGES = [
  { name: "deno serve", command: [deno.command[0]!, "serve", "-A", "--cached-only", "--no-remote", "--port", "0"] },
  { name: "bun", command: [bun.command[0]!] },
] as const;

describe.skipIf(!hasRedisServer()).each(EDGES)(
  "an edge function on $name, beside a server of the fleet",
  ({ command }) => {
    let redis: RedisServer;
    let upstash: UpstashStandIn;
    let server: Server;
    let edge: Child;
    let url: string;

    beforeAll(async () => {
      redis = await startRedisServer();
      upstash = await startUpstash({ redisUrl: redis.url });
      server = await startServer(node, { env: { LOCK_ADAPTER: "redis", REDIS_URL: redis.url } });
      edge = new Child([...command, EXAMPLE], {
        UPSTASH_REDIS_REST_URL: upstash.url,
        UPSTASH_REDIS_REST_TOKEN: upstash.token,
        RENDER_MS: String(RENDER_MS),
        PORT: "0",
      });
      const port = /:(\d+)/.exec(await edge.printed(/https?:\/\/\S+:\d+/))?.[1];
      url = `http://127.0.0.1:${port}`;
    }, 30_000);
    afterAll(async () => {
      await edge?.kill();
      await server?.[Symbol.asyncDispose]();
      await upstash?.close();
      await redis?.stop();
    });

    const publish = (document: string, key: string): Promise<Response> =>
      fetch(`${url}/documents/${document}/publish`, { method: "POST", headers: { "idempotency-key": key } });

    async function browser(): Promise<TestSocket> {
      const session = await openSession(server.socketUrl);
      onTestFinished(() => session[Symbol.dispose]());
      return session;
    }

    // It works for a moment, and waits for one: whoever stands still misses that.
    const calm = new Calm();
    calm.watch(() => [goesOn(server), async () => (await fetch(url)).text()]);

    test("what it lets go is pushed to the browser that waits on a server", calm.options, async ({ task }) => {
      const document = `a${task.result?.retryCount}`;
      const pushed: string[] = [];
      const listener = await createClient({ url: redis.url }).connect();
      onTestFinished(() => listener.destroy());
      await listener.pSubscribe("latchkey:wake:*", (text) => void pushed.push(text));
      const session = await browser();
      const published = publish(document, document);
      await edge.printed(new RegExp(`rendering ${document}`));
      const waiting = await session.queue(`document:${document}`);
      const { fence } = await session.granted(waiting);
      const answer = (await (await published).json()) as { fence: number };
      expect(fence).toBeGreaterThan(answer.fence);
      expect(pushed.filter((text) => text.includes(String(fence)))).toHaveLength(1);
    });

    test(
      "it waits for whoever edits the document, and gives up in time; the same request may then be tried again",
      calm.options,
      async ({ task }) => {
        const document = `b${task.result?.retryCount}`;
        const session = await browser();
        const held = await session.acquire(`document:${document}`);
        const refused = await publish(document, document);
        expect([refused.status, refused.headers.get("retry-after")]).toEqual([409, "1"]);

        const published = publish(document, document);
        await new Caller(server.url).waiting(`document:${document}`, 1);
        await session.release(held);
        expect((await published).status).toBe(200);
      },
    );

    test("a request that is sent twice publishes once, and both are told the same", async () => {
      const first = await publish("c", "k3");
      const again = await publish("c", "k3");
      expect([first.status, again.status]).toEqual([200, 200]);
      expect(await again.text()).toBe(await first.text());
      expect(edge.output.match(/rendering c/g)).toHaveLength(1);
    });
  },
);
