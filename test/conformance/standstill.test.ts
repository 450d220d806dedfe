import { once } from "node:events";
import { describe, expect, test } from "vitest";
import { callByHand, type Leave } from "./by-hand.ts";
import { Caller } from "./caller.ts";
import { RUNTIMES } from "./runtimes.ts";
import { startServer } from "./server.ts";
import { freshKey } from "./subject.ts";

/** More than one turn of the event loop reads. */
const CALLERS = 50;
/** Longer than it takes to serve all of them, and much shorter than what they ask for. */
const PATIENCE_MS = 8000;

/** What arrives while a server stands still lies unread, and with it that some of those who asked are gone. */
describe.each(RUNTIMES)("on $name", (runtime) => {
  test.each<Leave>(["destroy", "resetAndDestroy"])(
    "who hung up (%s) while the server stood still is granted nothing and starts nothing: whoever is next does",
    async (leave) => {
      await using server = await startServer(runtime);
      const caller = new Caller(server.url);
      const keys = Array.from({ length: CALLERS }, freshKey);
      const work = freshKey();
      server.process.signal("SIGSTOP");
      const gone = await Promise.all([
        ...keys.map((key) => callByHand(server.url, `/v1/latch/${key}/acquire`, '{"ttl":60000}')),
        callByHand(server.url, `/v1/idempotency/${work}/begin`, '{"lease":60000}'),
      ]);
      const left = gone.map(async (connection) => {
        connection[leave]();
        await once(connection, "close");
      });
      await Promise.all(left);
      const next = keys.map((key) => caller.acquire(key, { timeout: PATIENCE_MS }));
      const begun = caller.request("POST", `/v1/idempotency/${work}/begin`, { timeout: PATIENCE_MS });
      server.process.signal("SIGCONT");
      expect((await Promise.all(next)).map(({ status }) => status)).toEqual(keys.map(() => 200));
      expect((await begun).status).toBe(201);
    },
  );
});
