/**
 * An edge function that publishes a document, once for a request, and never while somebody edits it: the editor holds the lock in a session on some
 * server of the fleet, and whoever waits there for the end of the publishing is pushed the grant. No server of ours is called; both sides meet in Redis.
 *
 *   export UPSTASH_REDIS_REST_URL=… UPSTASH_REDIS_REST_TOKEN=…
 *   LOCK_ADAPTER=redis npm start &                               # where browsers connect
 *   deno serve -A --port 9000 examples/edge/function.ts &        # or: PORT=9000 bun examples/edge/function.ts
 *   curl -X POST -H 'Idempotency-Key: a1' http://127.0.0.1:9000/documents/42/publish
 */

import { setTimeout as passed } from "node:timers/promises";
import { Redis } from "@upstash/redis";
import { LockTimeoutError } from "latchkey/client";
import { IdempotencyInProgressError } from "latchkey/client/idempotency";
import { fleet } from "latchkey/fleet";

interface Published {
  readonly document: string;
  readonly fence: number;
}

const { RENDER_MS = "100" } = process.env;

const redis = Redis.fromEnv();
// On Cloudflare Workers inside `fetch`: nothing may be shared between requests there.
const locks = fleet({ redis });

export default {
  async fetch(request: Request): Promise<Response> {
    const [, document] = /^\/documents\/(\w+)\/publish$/.exec(new URL(request.url).pathname) ?? [];
    const key = request.headers.get("idempotency-key");
    if (request.method !== "POST" || document === undefined) return new Response("not found\n", { status: 404 });
    if (key === null) return new Response("an Idempotency-Key is needed\n", { status: 400 });
    try {
      // A repeat is told what the first one did. Work that throws has not run: the next request tries again.
      const run = (): Promise<Published> => publish(document);
      return Response.json(await locks.idempotent(`publish/${key}`, { fingerprint: document }, run));
    } catch (error) {
      if (error instanceof LockTimeoutError) return later("somebody edits it\n");
      if (error instanceof IdempotencyInProgressError) return later("it is being published\n");
      throw error;
    }
  },
};

function publish(document: string): Promise<Published> {
  return locks.withLock(
    `document:${document}`,
    async ({ fence, signal }) => {
      const page = await render(document, signal);
      await store(document, page, fence);
      return { document, fence };
    },
    { ttl: 10_000, timeout: 1000 },
  );
}

async function render(document: string, signal: AbortSignal): Promise<string> {
  console.log(`rendering ${document}`);
  await passed(Number(RENDER_MS), undefined, { signal });
  return `<h1>${document}</h1>`;
}

/** The fence is compared where the page is kept: whoever comes late, after its lease or after a failover of Redis, changes nothing. */
async function store(document: string, page: string, fence: number): Promise<void> {
  const isStored = await redis.eval(STORE, [`published:${document}`], [fence, page]);
  if (isStored !== 1) throw new Error(`a later holder has published ${document}`);
}

const STORE = `
if tonumber(redis.call('HGET', KEYS[1], 'fence') or '0') >= tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'page', ARGV[2])
return 1
`;

function later(why: string): Response {
  return new Response(why, { status: 409, headers: { "retry-after": "1" } });
}
