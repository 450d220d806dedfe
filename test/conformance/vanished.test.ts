import { fileURLToPath } from "node:url";
import { describe, expect, test, type TestContext } from "vitest";
import { Calm, later } from "./calm.ts";
import { Child } from "./child.ts";
import { figure } from "./figures.ts";
import { Network, networkImpossible } from "./network.ts";
import { type Puppet, startPuppet } from "./puppets.ts";
import { type Runtime, RUNTIMES, workers } from "./runtimes.ts";
import { type Server, startServer } from "./server.ts";

const PING_MS = 300;
const DEADLINE_MS = 900;
/** Two processes do not read the same clock. */
const CLOCKS_MS = 10;
const AUTH = "a-key-of-the-test";
const BELIEVER = fileURLToPath(new URL("./believer.ts", import.meta.url));

interface Scene {
  readonly network: Network;
  readonly server: Server;
  /** A session beside the server, which no cut reaches. */
  readonly staying: Puppet["socket"];
}

const impossible = networkImpossible();
if (impossible !== undefined) console.log(impossible);

const calm = new Calm();

describe.each([...RUNTIMES, workers])("on $name", calm.options, (runtime) => {
  calm.watch();

  test.for([
    ["while nothing is sent to it", false],
    ["while the server goes on sending to it", true],
  ] as const)(
    "the lock of a peer that vanished is with the next in line at the deadline: %s",
    ([name, isBusy], context) =>
      onStage(runtime, context, async ({ network, server, staying }) => {
        await using vanishing = await startPuppet(server.socketUrl, { auth: AUTH }, network.at("client"));
        const unwatch = calm.also(() => vanishing.socket.status("held"));
        await vanishing.socket.acquire("held");
        const waited = await staying.acquire("waited");
        await vanishing.socket.queue("waited");
        const behind = await staying.queue("waited");
        const next = await staying.queue("held");
        if (isBusy) {
          // Leases that end one after the other, each of which is a grant to the one that has vanished.
          for (let ttl = 100; ttl <= DEADLINE_MS + PING_MS; ttl += 50) {
            await staying.acquire(`lease-${ttl}`, { ttl });
            await vanishing.socket.queue(`lease-${ttl}`);
          }
        }

        unwatch();
        const spokeAt = performance.now();
        await vanishing.socket.status("held");
        network.cut();
        const cutAt = performance.now();
        await staying.granted(next);
        const grantedAt = performance.now();
        const what = `vanished peer (ping ${PING_MS}, deadline ${DEADLINE_MS}), ${name}, until the next has its lock`;
        figure(runtime, what, [grantedAt - cutAt]);
        // The server has heard of it after that, so that its deadline cannot have been earlier.
        expect(grantedAt - spokeAt).toBeGreaterThan(DEADLINE_MS - CLOCKS_MS);
        expect(grantedAt - cutAt).toBeLessThan(DEADLINE_MS + PING_MS);

        await staying.release(waited);
        await staying.granted(behind);
        network.heal();
        expect((await vanishing.socket.closed).code).toBeOneOf([4410, 1006]);
      }),
  );

  test("a client that is cut off gives its lock and its attempt up before the next has them", (context) =>
    onStage(runtime, context, async ({ network, server, staying }) => {
      await using believer = new Child([...network.at("client"), process.execPath, BELIEVER, server.url, AUTH, "key"]);
      await believer.printed(/^holding/);
      const next = await staying.queue("key");
      const { id } = await staying.ask({ t: "begin", key: "key", timeout: 60_000 }, "attempt_queued");
      network.cut();
      const begun = later(staying.next("started", id).then(({ number }) => ({ number, at: Date.now() })));
      await staying.granted(next);
      const grantedAt = Date.now();
      const [, reason, lostAt] = (await believer.printed(/^lost .*/)).split(" ");
      expect(reason).toBe("dropped");
      figure(runtime, "a client that is cut off is sure that it lost its lock, before the next has it", [
        grantedAt - Number(lostAt),
      ]);
      expect(Number(lostAt)).toBeLessThan(grantedAt);
      const [, why, stoppedAt] = (await believer.printed(/^attempt .*/)).split(" ");
      const { number, at } = await begun;
      expect([why, number]).toEqual(["dropped", 2]);
      expect(Number(stoppedAt)).toBeLessThan(at);
    }));
});

async function onStage(runtime: Runtime, context: TestContext, play: (scene: Scene) => Promise<void>): Promise<void> {
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
  await using staying = await startPuppet(server.socketUrl, { auth: AUTH }, network.at("server"));
  calm.also(() => staying.socket.status(""));
  await play({ network, server, staying: staying.socket });
  return undefined;
}
