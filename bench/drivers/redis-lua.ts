/**
 * A queue in Redis that is handed on: a script gives the lock to the next in line and publishes that to it. Written for
 * this benchmark, as somebody would who wants first come, first served from Redis. Tickets and fences it has; like the
 * list, nothing saves it from a holder that crashes.
 */

import { createHash } from "node:crypto";
import { createClient } from "redis";
import { type Driver, type Held, nothing } from "./driver.ts";

/** Key: a hash of holder, ticket and fence; the queue. Argument: who asks. Answers [ticket], and the fence with a grant. */
const ACQUIRE = `
local ticket = redis.call('HINCRBY', KEYS[1], 'ticket', 1)
if redis.call('HSETNX', KEYS[1], 'holder', ARGV[1]) == 1 then
  return {ticket, redis.call('HINCRBY', KEYS[1], 'fence', 1)}
end
redis.call('RPUSH', KEYS[2], ARGV[1])
return {ticket}`;

const RELEASE = `
if redis.call('HGET', KEYS[1], 'holder') ~= ARGV[1] then return 0 end
local next = redis.call('LPOP', KEYS[2])
if next then
  redis.call('HSET', KEYS[1], 'holder', next)
  redis.call('PUBLISH', next, redis.call('HINCRBY', KEYS[1], 'fence', 1) .. ' ' .. KEYS[1])
else
  redis.call('HDEL', KEYS[1], 'holder')
end
return 1`;

export const redisLua: Driver = {
  name: "redis-lua",
  can: { shared: false, limit: false, drop: false, keys: true, quiet: true, ordered: true, clientsMax: 1024 },
  open: async ({ url, row }) => {
    const loader = await createClient({ url }).connect();
    await loader.scriptLoad(ACQUIRE);
    await loader.scriptLoad(RELEASE);
    await loader.close();
    return {
      connect: async (_index, broken) => {
        // One connection: with RESP 3 it takes commands while it is subscribed. Commonly it would be two.
        const client = createClient({ url, RESP: 3, socket: { reconnectStrategy: false } });
        client.on("error", broken);
        await client.connect();
        const name = `${row}:${await client.clientId()}`;
        const waiting = new Map<string, (fence: number) => void>();
        await client.subscribe(name, (text) => {
          const space = text.indexOf(" ");
          waiting.get(text.slice(space + 1))?.(Number(text.slice(0, space)));
        });
        const run = (script: string, key: string): Promise<unknown> =>
          client.evalSha(sha1(script), { keys: [key, `${key}:queue`], arguments: [name] });
        const release = async (key: string): Promise<void> => {
          if ((await run(RELEASE, key)) !== 1) throw new Error(`${key} was not held`);
        };
        return {
          acquire: async (key): Promise<Held> => {
            const handed = new Promise<number>((resolve) => waiting.set(key, resolve));
            const [ticket, granted] = (await run(ACQUIRE, key)) as [number, number?];
            const fence = granted ?? (await handed);
            return { ticket, fence, release: () => release(key) };
          },
          drop: () => client.destroy(),
          close: () => client.close(),
        };
      },
      close: nothing,
    };
  },
};

function sha1(text: string): string {
  return createHash("sha1").update(text).digest("hex");
}
