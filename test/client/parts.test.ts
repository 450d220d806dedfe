import { expect, test, vi } from "vitest";
// What is loaded later is there at once in virtual time.
import "../../src/client/parts.ts";
import { partOf } from "../../src/protocol/spread.ts";
import { type FarEnd, grantOf, greet, scripted, type Scripted } from "./support/scripted-server.ts";
import { outcome, settle } from "./support/virtual-time.ts";

// What a server makes of parts is in test/workers. Here is what a client does that is told of them.

const keyIn = (part: number): string =>
  Array.from({ length: 100 }, (_, index) => `k${index}`).find((key) => partOf(key, 3) === part)!;

/** A client of a space of three parts, which has asked for keys of part 1 in part 0, and was told so. */
async function misdirected(url: string, keys: readonly string[]) {
  const server = await scripted({ space: "s" }, url);
  await greet(server, { spread: 3, part: 0 });
  const first = server.end();
  const acquiring = keys.map((key) => server.client.acquire(key));
  await settle();
  for (const asking of acquiring) asking.catch(() => undefined);
  const refused = { t: "refused", code: "misdirected", detail: "not here", retryable: false } as const;
  await first.sayBatch(...asked(first).map(({ id }) => ({ ...refused, id })));
  return { server, first, acquiring };
}

/** The frames that were sent and not looked at yet. */
function asked(end: FarEnd): readonly { readonly t: string; readonly id: string }[] {
  return end.texts.splice(0).flatMap((text) => JSON.parse(text) as { readonly t: string; readonly id: string });
}

async function closed({ ends }: Scripted, closing: Promise<void>): Promise<void> {
  for (const end of ends) await end.drop(1000);
  await closing;
}

test.each([
  ["https://latchkey.test", "wss://latchkey.test/v1/session?"],
  ["wss://latchkey.test/base/v1/session/?x=1&part=7#top", "wss://latchkey.test/base/v1/session?x=1&"],
])("a part is at the address of the space, %s, with its number", async (url, start) => {
  const { server } = await misdirected(url, [keyIn(1)]);
  const address = new URL(server.end().url);
  expect(server.ends).toHaveLength(2);
  expect(address.href.startsWith(start)).toBe(true);
  expect([address.hash, address.searchParams.get("space"), address.searchParams.getAll("part")]).toEqual([
    "",
    "s",
    ["1"],
  ]);
  await closed(server, server.client.close());
});

test("who asks for a part at the same time shares its one session, and who asks later goes there at once", async () => {
  const key = keyIn(1);
  const { server, first, acquiring } = await misdirected("https://latchkey.test", [key, key]);
  acquiring.push(server.client.acquire(key));
  await greet(server, { spread: 3, part: 1, session: "session-2" });
  expect(server.ends).toHaveLength(2);
  expect(asked(first)).toEqual([]);
  const grants = asked(server.end()).map(({ id }) => grantOf(id, key, { mode: "shared" }));
  expect(grants).toHaveLength(3);
  await server.end().sayBatch(...grants);
  expect(await Promise.all(acquiring)).toMatchObject([{ key }, { key }, { key }]);
  await closed(server, server.client.close());
});

test("the connection is as good as that of the worst part, and closing is closing all", async () => {
  const { server, first, acquiring } = await misdirected("https://latchkey.test", [keyIn(1)]);
  expect(server.client.connection).toBe("connecting");
  await greet(server, { spread: 3, part: 1, session: "session-2" });
  expect(server.client.connection).toBe("connected");
  await server.end().drop();
  expect(server.client.connection).toBe("reconnecting");
  await server.time.advance(1_000);
  await greet(server, { spread: 3, part: 1, session: "session-3" });
  expect(server.client.connection).toBe("connected");
  const closing = server.client.close();
  await settle();
  expect([first.closedWith, server.end().closedWith]).toEqual([{ code: 1000 }, { code: 1000 }]);
  expect(await outcome(acquiring[0]!)).toMatchObject({ code: "session_closed" });
  let isClosed = false;
  const over = closing.then(() => (isClosed = true));
  await first.drop(1000);
  expect(isClosed).toBe(false);
  await server.end().drop(1000);
  await over;
  expect(server.statuses.at(-1)).toBe("closed");
});

test("a part is closed when the server closes the first session for good", async () => {
  const { server, first } = await misdirected("https://latchkey.test", [keyIn(1)]);
  await greet(server, { spread: 3, part: 1, session: "session-2" });
  await first.drop(4401);
  expect(server.client.connection).toBe("closed");
  expect(server.end().closedWith).toEqual({ code: 1000 });
});

test("a page of keys is of all parts, and says where the next begins", async () => {
  const server = await scripted();
  await greet(server, { spread: 2, part: 0 });
  const listing = server.client.list({ count: 2 });
  await settle();
  const answer = async (end: FarEnd, ...keys: string[]): Promise<void> => {
    const told = keys.map((key) => ({ key, status: "free", holders: [], waiting: 0 }));
    await end.say(JSON.stringify({ t: "list", id: asked(end)[0]!.id, keys: told }));
  };
  await answer(server.end(), "a", "d");
  await vi.waitFor(() => expect(server.ends).toHaveLength(2));
  await greet(server, { spread: 2, part: 1, session: "session-2" });
  await answer(server.ends[0]!, "a", "d");
  await answer(server.ends[1]!, "b", "c");
  expect(await listing).toMatchObject({ keys: [{ key: "a" }, { key: "b" }], next: "b" });
});
