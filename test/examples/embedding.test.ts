import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { Caller } from "../conformance/caller.ts";
import { Child } from "../conformance/child.ts";
import { RUNTIMES } from "../conformance/runtimes.ts";
import { temporaryFolder } from "../conformance/server.ts";
import { openSession } from "../conformance/socket.ts";

test.each(RUNTIMES)("a $name server answers its own routes, lock calls and sessions", async ({ name, command }) => {
  using folder = temporaryFolder();
  const example = fileURLToPath(new URL(`../../examples/${name}-server.ts`, import.meta.url));
  // The runtime's own command, with the example in the place of the server.
  await using server = new Child([...command.slice(0, -1), example], { PORT: "0", LATCHKEY_DB: `${folder.path}/db` });
  const url = await server.printed(/http:\S+/);

  const page = await fetch(`${url}/about`);
  expect([page.status, await page.text()]).toEqual([200, "my own page\n"]);
  const { body } = await new Caller(url).acquire("key");
  expect(body.status).toBe("acquired");
  using session = await openSession(`${url.replace("http", "ws")}/v1/session`);
  const waiting = await session.queue("key");
  await new Caller(url).release("key", { token: body.token });
  expect((await session.granted(waiting)).fence).toBeGreaterThan(body.fence);
});
