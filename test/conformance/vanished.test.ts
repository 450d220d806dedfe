import { describe, expect, test } from "vitest";
import { figure } from "./figures.ts";
import { Network, networkImpossible } from "./network.ts";
import { startPuppet } from "./puppets.ts";
import { RUNTIMES } from "./runtimes.ts";
import { startServer } from "./server.ts";

const PING_MS = 300;
const DEADLINE_MS = 900;
const AUTH = "a-key-of-the-test";

const impossible = networkImpossible();
if (impossible !== undefined) console.log(impossible);

describe.each(RUNTIMES)("on $name", (runtime) => {
  test.for([
    ["while nothing is sent to it", false],
    ["while the server goes on sending to it", true],
  ] as const)(
    "the lock of a peer that vanished is with the next in line at the deadline, or a ping later: %s",
    async ([name, isBusy], context) => {
      if (impossible !== undefined) return context.skip(impossible);
      using network = new Network();
      await using server = await startServer(runtime, {
        within: network.at("server"),
        env: {
          HOST: network.serverAddress,
          LATCHKEY_KEYS: AUTH,
          LATCHKEY_HEARTBEAT: `${PING_MS}ms`,
          LATCHKEY_DEADLINE: `${DEADLINE_MS}ms`,
        },
      });
      await using vanishing = await startPuppet(server.socketUrl, { auth: AUTH }, network.at("client"));
      await using staying = await startPuppet(server.socketUrl, { auth: AUTH }, network.at("server"));
      await vanishing.socket.acquire("held");
      const waited = await staying.socket.acquire("waited");
      await vanishing.socket.queue("waited");
      const behind = await staying.socket.queue("waited");
      const next = await staying.socket.queue("held");
      if (isBusy) {
        // Leases that end one after the other, each of which is a grant to the one that has vanished.
        for (let ttl = 100; ttl <= DEADLINE_MS + PING_MS; ttl += 50) {
          await staying.socket.acquire(`lease-${ttl}`, { ttl });
          await vanishing.socket.queue(`lease-${ttl}`);
        }
      }

      network.cut();
      const startedAt = performance.now();
      await staying.socket.granted(next);
      const tookMs = performance.now() - startedAt;
      figure(
        runtime,
        `vanished peer (ping ${PING_MS}, deadline ${DEADLINE_MS}), ${name}, until the next has its lock`,
        [tookMs],
      );
      // The last it said may have been one ping before it was cut off.
      expect(tookMs).toBeGreaterThan(DEADLINE_MS - PING_MS - 50);
      expect(tookMs).toBeLessThan(DEADLINE_MS + PING_MS);

      await staying.socket.release(waited);
      await staying.socket.granted(behind);
      network.heal();
      expect((await vanishing.socket.closed).code).toBeOneOf([4410, 1006]);
      return undefined;
    },
  );
});
