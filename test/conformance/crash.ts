/** What a killed server leaves to the next. */

import { expect, test, vi } from "vitest";
import { connect } from "../../src/client/index.ts";
import { Random } from "../simulation/random.ts";
import { Caller } from "./caller.ts";
import { Ledger } from "./ledger.ts";
import { CallerLoad, type Loaded, SessionLoad } from "./load.ts";
import type { Runtime } from "./runtimes.ts";
import { startServer, temporaryFolder } from "./server.ts";
import { openSession, openSocket } from "./socket.ts";

const ROUNDS_DEFAULT = 10;
/** In each round. */
const GRANTS_MIN = 10;
const LOAD_MIN_MS = 50;
const LOAD_MAX_MS = 350;
const SLACK_MS = 1000;
/** Each round starts a server, which takes a busy machine its time. */
const LONG = { timeout: 120_000 };

export function crash(runtime: Runtime, rounds = ROUNDS_DEFAULT): void {
  test("what was answered before kill -9 is true after it", async () => {
    using folder = temporaryFolder(runtime);
    await using first = await startServer(runtime, { folder: folder.path });
    const caller = new Caller(first.url);
    const { body: held } = await caller.acquire("http", { ttl: 60_000, request_id: "once" });
    const { body: ended } = await caller.acquire("ended", { ttl: 60_000 });
    await caller.release("ended", { token: ended.token });
    const { body: nested } = await caller.acquire("nested", { ttl: 60_000 });
    await caller.acquire("nested", { token: nested.token, nest: true });
    using graceful = await openSocket(first.socketUrl);
    const welcome = await graceful.hello({ grace: 30_000 });
    const gracefulHeld = await graceful.acquire("graceful", { id: "holds" });
    await graceful.queue("http", { id: "waits" });
    using plain = await openSession(first.socketUrl);
    await plain.acquire("plain");
    await plain.queue("nested");
    const kept = await plain.acquire("kept", { keep: true, ttl: 60_000 });

    await first.kill();
    expect((await plain.closed).code).toBe(1006);
    await using second = await startServer(runtime, { folder: folder.path });
    const again = new Caller(second.url);
    expect((await again.status("http")).body).toMatchObject({ holders: [{ fence: held.fence }], waiting: 1 });
    await until(runtime, async () => {
      expect((await again.status("plain")).body.status).toBe("free");
      expect((await again.status("nested")).body).toMatchObject({ holders: [{ fence: nested.fence }], waiting: 0 });
    });
    expect((await again.status("kept")).body.holders).toMatchObject([{ fence: kept.fence }]);
    expect((await again.status("ended")).body.status).toBe("free");

    using resumed = await openSocket(second.socketUrl);
    const resume = { session: welcome.session, secret: welcome.secret };
    const welcomed = await resumed.hello({ grace: 30_000, resume });
    expect(welcomed).toMatchObject({ resumed: true, session: welcome.session, durable: true });
    expectLater(runtime, welcomed.epoch, welcome.epoch);
    const claims = new Map(welcomed.claims?.map((claim) => [claim.id, claim]));
    const { token, fence } = gracefulHeld;
    expect(claims.get("holds")).toMatchObject({ state: "holding", key: "graceful", token, fence });
    expect(claims.get("waits")).toMatchObject({ state: "waiting", key: "http", position: 1 });

    const { body: repeated } = await again.acquire("http", { ttl: 60_000, request_id: "once" });
    expect(repeated).toMatchObject({ status: "acquired", token: held.token, fence: held.fence, reentrant: false });
    expect((await again.release("ended", { token: ended.token })).body).toEqual({ status: "released", already: true });
    expect((await again.release("nested", { token: nested.token })).body).toEqual({ status: "held", depth: 1 });
    expect((await again.release("kept", { token: kept.token })).body).toEqual({ status: "released" });
    await again.release("http", { token: held.token });
    const granted = await resumed.next("granted", "waits");
    for (const earlier of [held, ended, nested, gracefulHeld, kept]) {
      expect(granted.fence).toBeGreaterThan(earlier.fence);
    }
  });

  test("a client hears that its lock is lost with the server, and has it anew from the next", async () => {
    using folder = temporaryFolder(runtime);
    await using first = await startServer(runtime, { folder: folder.path });
    await using client = connect(first.url);
    const lock = await client.acquire("key");
    const kept = await client.acquire("kept", { keep: true, ttl: 60_000 });
    await using waiting = connect(first.url);
    await waiting.ready;
    const next = waiting.acquire("key");
    await new Caller(first.url).waiting("key", 1);

    await first.kill();
    expect(await lock.lost).toMatchObject({ reason: "dropped" });
    expect(lock.signal.aborted).toBe(true);
    const env = { PORT: new URL(first.url).port };
    await using second = await startServer(runtime, { folder: folder.path, env });
    const again = await next;
    expect(again.fence).toBeGreaterThan(lock.fence);
    expect(again.signal.aborted).toBe(false);
    expect((await new Caller(second.url).status("kept")).body.holders).toMatchObject([{ fence: kept.fence }]);
  });

  test(
    "kill -9 at any moment under load: nothing is granted twice, and nothing that was answered is lost",
    LONG,
    async (context) => {
      const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 2 ** 32));
      context.onTestFailed(() => console.log(`SEED=${seed}`));
      const random = new Random(seed);
      const ledger = new Ledger();
      const load: readonly Loaded[] = [
        ...["a", "b", "c"].map((name) => new CallerLoad(name, ledger, random)),
        ...["d", "e"].map((name) => new SessionLoad(name, true, ledger, random)),
        ...["f", "g"].map((name) => new SessionLoad(name, false, ledger, random)),
      ];
      using folder = temporaryFolder(runtime);
      let epoch = 0;
      for (let round = 0; round < rounds; round++) {
        const { fenceMax } = ledger;
        await using server = await startServer(runtime, { folder: folder.path });
        for (const each of load) await each.resume(server);
        using session = await openSocket(server.socketUrl);
        const welcome = await session.hello();
        if (round > 0) expectLater(runtime, welcome.epoch, epoch);
        epoch = welcome.epoch;
        const probe = ledger.granted(await session.acquire(`probe-${round}`));
        expect(probe.fence).toBeGreaterThan(fenceMax);

        const running = load.map((each) => each.run());
        const { count } = ledger;
        await Promise.race([...running, passed(random.between(LOAD_MIN_MS, LOAD_MAX_MS))]);
        // A machine that stalls has the load it needs somewhat later.
        while (ledger.count < count + GRANTS_MIN) await Promise.race([...running, passed(LOAD_MIN_MS)]);
        const killed = server.kill();
        for (const each of load) each.killed(performance.now());
        probe.to = performance.now();
        await killed;
        await Promise.all(running);
        ledger.check();
      }
      console.log(`${runtime.name}: ${ledger.count} grants over ${rounds} kills`);
    },
  );
}

/** Sessions that were lost with their server are over at its next start, or where others speak for it, within its lease. */
async function until({ leaseMs }: Runtime, demand: () => Promise<void>): Promise<void> {
  if (leaseMs === undefined) await demand();
  else await vi.waitFor(demand, { timeout: leaseMs + SLACK_MS });
}

/** An epoch is a server's, from its start, or that of what it shares with others. */
function expectLater({ leaseMs }: Runtime, epoch: number, before: number): void {
  if (leaseMs === undefined) expect(epoch).toBeGreaterThan(before);
  else expect(epoch).toBe(before);
}

/** The load runs for a time that nothing but chance decides: there is nothing to wait for. */
function passed(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
