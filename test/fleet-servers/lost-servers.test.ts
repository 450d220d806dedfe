import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { AttemptLostError, connect } from "../../src/client/idempotency.ts";
import { Calm, later } from "../conformance/calm.ts";
import { Caller } from "../conformance/caller.ts";
import { Network, networkImpossible } from "../conformance/network.ts";
import { startPuppet } from "../conformance/puppets.ts";
import { temporaryFolder } from "../conformance/server.ts";
import { isHere, Log } from "./support/crowds.ts";
import { Redis } from "./support/redis.ts";
import { hasRedisServer } from "../fleet/support/redis-server.ts";
import { type Name, NAMES, Trio } from "./support/trio.ts";

/** The deadline of sessions is 0.6 of it, and on a busy machine three hundred of them are late at times. */
const LEASE_MS = 4000;
/** What a busy machine may need besides. */
const SLACK_MS = 1000;
const HALF = 50;
const CROWD = 2 * HALF;
const KEY = "key";

interface Stage {
  readonly trio: Trio;
  readonly redis: Redis;
  /** Takes the server away from the others, while one of its sessions holds the key. */
  readonly lose: () => Promise<void> | void;
  /** Lets it come back. */
  readonly return: () => Promise<void> | void;
  readonly within?: (name: Name) => readonly string[];
}

/** Who stands still for as long as a lease, or a deadline, is given up like whoever is lost on purpose. */
const calm = new Calm(3);
calm.watch();

const impossible = networkImpossible();
if (impossible !== undefined) console.log(impossible);

describe.skipIf(!hasRedisServer())("300 sessions on three servers want one key", calm.options, () => {
  test("kill -9 of a server: its claims end within its lease, and the others go on in order", async () => {
    await using redis = await Redis.start();
    await using trio = await Trio.start({ redis: redis.url, leaseMs: LEASE_MS });
    await play("bun", {
      trio,
      redis,
      lose: async () => void (await trio.get("bun").kill()),
      return: () => trio.start("bun"),
    });
  });

  test("a server is frozen past its lease: its clients stop before others begin, and it comes back as a new one", async () => {
    await using redis = await Redis.start();
    await using trio = await Trio.start({ redis: redis.url, leaseMs: LEASE_MS });
    await play("deno", {
      trio,
      redis,
      lose: () => trio.get("deno").process.signal("SIGSTOP"),
      return: () => trio.get("deno").process.signal("SIGCONT"),
    });
  });

  test.skipIf(impossible !== undefined)(
    "a server is cut off from Redis past its lease: its clients stop before others begin, and go on when it is healed",
    async () => {
      using network = new Network();
      const within = (name: Name): readonly string[] => network.at(name === "node" ? "client" : "server");
      await using redis = await Redis.start({ within: network.at("server"), address: network.serverAddress });
      await using trio = await Trio.start({ redis: redis.url, leaseMs: LEASE_MS, within });
      const cutAndHeal = { lose: () => network.cut(), return: () => network.heal() };
      await play("node", { trio, redis, within, ...cutAndHeal });
    },
  );
});

describe.skipIf(!hasRedisServer())("work that runs in a session on a server that is lost", calm.options, () => {
  test.each([
    ["killed", "bun", "SIGKILL"],
    ["frozen past its lease", "deno", "SIGSTOP"],
  ] as const)(
    "%s: it is told to stop before another server lets the next attempt begin",
    async (_how, lost, signal) => {
      await using redis = await Redis.start();
      await using trio = await Trio.start({ redis: redis.url, leaseMs: LEASE_MS });
      await using client = connect(trio.get(lost).url);
      await using other = connect(trio.get("node").url);
      calm.also(() => new Caller(trio.get("node").url).status(KEY));
      const running = Promise.withResolvers<void>();
      let stoppedAt = Number.POSITIVE_INFINITY;
      const first = client.idempotent(KEY, { lease: 60_000 }, async ({ signal: stop }) => {
        running.resolve();
        await new Promise((resolve) => stop.addEventListener("abort", resolve));
        stoppedAt = performance.now();
        return "late";
      });
      const outcome = first.catch((error: unknown) => error);
      await running.promise;
      const next = later(
        other.idempotent(KEY, { timeout: 60_000 }, ({ number }) => ({ number, at: performance.now() })),
      );

      const lostAt = performance.now();
      trio.get(lost).process.signal(signal);
      const { number, at } = await next;
      expect(await outcome).toBeInstanceOf(AttemptLostError);
      expect(number).toBe(2);
      expect(stoppedAt).toBeLessThan(at);
      expect(at - lostAt).toBeLessThan(LEASE_MS + SLACK_MS);
      trio.get(lost).process.signal("SIGCONT");
      expect(await other.idempotent(KEY, {}, () => "again")).toEqual({ number, at });
    },
  );
});

async function play(lost: Name, { trio, lose, return: comeBack, within }: Stage): Promise<void> {
  using folder = temporaryFolder();
  const log = new Log(join(folder.path, "log"));
  const place = (name: Name): { within?: readonly string[] } => (within ? { within: within(name) } : {});
  const crowds = await Promise.all(
    NAMES.map((name) => log.crowd({ url: trio.get(name).url, name, count: CROWD, key: KEY, ...place(name) })),
  );
  const staying = NAMES.find((name) => name !== lost)!;
  await using first = await startPuppet(trio.get(staying).socketUrl, {}, place(staying).within);
  for (const crowd of crowds) calm.also(isHere(crowd));
  calm.also(() => first.socket.status("nothing"));
  const held = await first.socket.acquire(KEY);
  // In two halves, so that many of each crowd are in line behind whoever is lost with the key.
  for (const half of [0, 1]) {
    for (const crowd of crowds) crowd.writeLine(`queue ${half * HALF} ${(half + 1) * HALF}`);
    await log.until("queued", (half + 1) * NAMES.length * HALF);
  }
  const unlucky = crowds[NAMES.indexOf(lost)]!;
  unlucky.writeLine(`stay ${HALF / 2}`);
  await first.socket.release(held);
  const fence = Number((await unlucky.printed(/^staying \d+$/)).slice("staying ".length));
  const before = log.count("held");
  const lostAt = performance.now();
  await lose();
  await log.until("held", before + 1);
  const tookMs = performance.now() - lostAt;
  console.log(`${lost}: ${tookMs.toFixed(0)} ms until the next has its key (lease ${LEASE_MS} ms)`);
  expect(tookMs).toBeLessThan(LEASE_MS + SLACK_MS);

  await comeBack();
  await log.until("held", NAMES.length * CROWD, 60_000);
  await log.until("freed", NAMES.length * CROWD - 1);
  log.checkHoldings();
  log.checkOrder((member) => !member.startsWith(lost), fence);
  expect(log.count("lost")).toBe(1);
  await Promise.all(crowds.map((crowd) => crowd.kill()));
}
