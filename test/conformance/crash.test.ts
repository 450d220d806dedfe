import { describe, expect, test } from "vitest";
import { Caller } from "./caller.ts";
import { crash } from "./crash.ts";
import { RUNTIMES, workers } from "./runtimes.ts";
import { startServer, temporaryFolder } from "./server.ts";
import { openSocket } from "./socket.ts";

describe.each([...RUNTIMES, workers])("on $name", (runtime) => {
  crash(runtime);
});

test("what one runtime has written, the next goes on with", async () => {
  using folder = temporaryFolder();
  const tokens = new Set<string>();
  let resume: { session: string; secret: string } | undefined;
  for (const runtime of [...RUNTIMES, ...RUNTIMES]) {
    await using server = await startServer(runtime, { folder: folder.path });
    // The first start grants both, and every later one finds the same claims.
    const { body } = await new Caller(server.url).acquire("http", { ttl: 60_000, request_id: "once" });
    using session = await openSocket(server.socketUrl);
    const welcome = await session.hello({ grace: 30_000, ...(resume && { resume }) });
    resume = { session: welcome.session, secret: welcome.secret };
    const held = await session.acquire("graceful", { id: "once" });
    tokens.add(`${body.token} ${held.token}`);
    await server.kill();
  }
  expect(tokens.size).toBe(1);
});
