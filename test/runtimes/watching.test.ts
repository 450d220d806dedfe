/** What a client shows and does with others, against a real server: over a socket, and in its own process. */

import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  type Client,
  connect,
  type ConnectOptions,
  type Contended,
  type KeyState,
  LimitError,
  type Watch,
} from "../../src/client/index.ts";
import { httpClient } from "../../src/client/http.ts";
import { createLatchkey } from "../../src/index.ts";
import { runtimeUnderTest } from "./runtime.ts";

type Joined = Pick<ConnectOptions, "meta" | "user" | "onError">;

interface Place {
  readonly join: (options?: Joined) => Client;
}

async function readUntil(watch: Watch, isThere: (state: KeyState) => boolean): Promise<void> {
  for await (const state of watch) if (isThere(state)) return;
}

const PATIENCE = { timeout: 10_000, interval: 5 };

async function overSocket(): Promise<Place & { readonly url: string }> {
  const server = await (await runtimeUnderTest()).serve({ port: 0 });
  onTestFinished(() => server.close());
  return { url: server.url, join: (options) => connect(server.url, options) };
}

async function inProcess(): Promise<Place> {
  const latchkey = createLatchkey();
  onTestFinished(() => latchkey.close());
  return { join: (options) => latchkey.connect(options) };
}

describe.each([
  ["over a socket", overSocket],
  ["in process", inProcess],
])("%s", (_where, start) => {
  test("a watch follows a key, and knows itself, its user's other sessions and its place", async () => {
    const { join } = await start();
    const [me, mine, other] = [
      join({ user: "ada" }),
      join({ user: "ada" }),
      join({ user: "bob", meta: { colour: "red" } }),
    ];
    const watch = me.watch("doc");
    const states: string[] = [];
    watch.subscribe(() => {
      const { status, holders, waiting, position } = watch.state!;
      const who = holders.map(({ user, isMe, isSameUser }) =>
        [user, isMe && "me", isSameUser && "same"].filter(Boolean),
      );
      states.push([status, ...who, waiting, position].join(" "));
    });
    await vi.waitUntil(() => watch.isCurrent, PATIENCE);
    const first = await other.acquire("doc");
    const second = me.acquire("doc");
    await vi.waitUntil(() => watch.state?.position === 1, PATIENCE);
    expect(watch.state!.holders[0]!.meta).toEqual({ colour: "red" });
    await first.release();
    await vi.waitUntil(() => watch.state?.holders[0]?.isMe === true, PATIENCE);
    await (await second).release();
    await mine.acquire("doc");
    await vi.waitUntil(() => watch.state?.holders[0]?.isSameUser === true && !watch.state.holders[0].isMe, PATIENCE);
    await mine.close();
    await vi.waitUntil(() => watch.state?.status === "free", PATIENCE);
    // States in between may have been skipped, never turned round.
    const expected = [
      "free 0 ",
      "held bob 0 ",
      "held bob 1 1",
      "held ada,me,same 0 ",
      "free 0 ",
      "held ada,same 0 ",
      "free 0 ",
    ];
    let at = 0;
    for (const state of states) {
      at = expected.indexOf(state, at);
      if (at === -1) expect.fail(`${state} in ${states.join("; ")}`);
    }
    expect([at, states.at(-1)]).toEqual([expected.length - 1, "free 0 "]);
    watch.close();
  });

  test("a watch of a prefix shows its live keys alone, also more of them than one frame tells", async () => {
    const { join } = await start();
    const [holder, watcher] = [join(), join()];
    const keys = Array.from({ length: 250 }, (_, i) => `doc:${i}`);
    const locks = await Promise.all([...keys, "other"].map((key) => holder.acquire(key)));
    using watch = watcher.watch({ prefix: "doc:" });
    await vi.waitUntil(() => watch.states.size === keys.length, PATIENCE);
    expect(new Set(watch.states.keys())).toEqual(new Set(keys));
    const freed = readUntil(watch, ({ key, status }) => key === "doc:7" && status === "free");
    await locks[7]!.release();
    await freed;
    expect(watch.states.has("doc:7")).toBe(false);
    await holder.close();
    await vi.waitUntil(() => watch.states.size === 0, PATIENCE);
  });

  test("a prefix of too many keys is refused, and says so", async () => {
    const { join } = await start();
    const holders = [join(), join()];
    const errors: unknown[] = [];
    const watcher = join({ onError: (error) => errors.push(error) });
    await Promise.all(Array.from({ length: 1001 }, (_, i) => holders[i % 2]!.acquire(`doc:${i}`)));
    await expect(Array.fromAsync(watcher.watch({ prefix: "doc:" }))).rejects.toThrow(LimitError);
    expect(errors).toMatchObject([{ limit: "watched_keys" }]);
  });

  test("who waits asks, who holds hears it and hands the lock on, past the queue", async () => {
    const { join } = await start();
    const [holder, first, second] = [join(), join({ user: "bob" }), join({ meta: { name: "Eve" } })];
    const lock = await holder.acquire("doc");
    const heard: Contended[] = [];
    lock.addEventListener("contended", ({ detail }) => heard.push(detail));
    const waiting = [first.acquire("doc"), second.acquire("doc")];
    await vi.waitUntil(() => heard.at(-1)?.waiting === 2, PATIENCE);
    await first.requestAccess("doc", "now?");
    await second.requestAccess("doc", "may I?");
    await vi.waitUntil(() => heard.at(-1)?.asks.length === 2, PATIENCE);
    expect(heard.at(-1)!.asks).toMatchObject([
      { session: first.session, user: "bob", message: "now?" },
      { session: second.session, meta: { name: "Eve" }, message: "may I?" },
    ]);
    await first.requestAccess("doc", undefined, { withdraw: true });
    await vi.waitUntil(() => heard.at(-1)?.asks.length === 1, PATIENCE);
    await expect(lock.handTo(holder.session!)).rejects.toMatchObject({ code: "not_waiting" });
    expect(lock.signal.aborted).toBe(false);
    await lock.handTo(second.session!);
    const next = await waiting[1]!;
    expect(next.fence).toBeGreaterThan(lock.fence);
    expect((await holder.status("doc")).waiting).toBe(1);
    await expect(first.requestAccess("elsewhere")).rejects.toMatchObject({ code: "not_waiting" });
    await next.release();
    await (await waiting[0]!).release();
  });

  test("an ask is gone with who asked", async () => {
    const { join } = await start();
    const [holder, asker] = [join(), join()];
    const lock = await holder.acquire("doc");
    const heard: Contended[] = [];
    lock.addEventListener("contended", ({ detail }) => heard.push(detail));
    asker.acquire("doc").catch(() => undefined);
    await asker.requestAccess("doc");
    await vi.waitUntil(() => heard.at(-1)?.asks.length === 1, PATIENCE);
    await asker.close();
    await vi.waitUntil(() => heard.at(-1)?.waiting === 0, PATIENCE);
    expect(heard.at(-1)).toEqual({ waiting: 0, asks: [] });
  });

  test("who takes a lock tells why, and who loses it is told by whom", async () => {
    const { join } = await start();
    const [holder, thief] = [join(), join()];
    const lock = await holder.acquire("doc");
    await thief.steal("doc", { reason: "lunch is over" });
    expect(await lock.lost).toMatchObject({
      reason: "stolen",
      by: { session: thief.session, message: "lunch is over" },
    });
  });
});

test("after a reconnect no key is told as free that was held all the time, however many frames tell of them", async () => {
  const { url, join } = await overSocket();
  const holder = join();
  await Promise.all(Array.from({ length: 250 }, (_, i) => holder.acquire(`doc:${i}`)));
  const sockets: WebSocket[] = [];
  class Noted extends WebSocket {
    constructor(address: string, protocols: string[]) {
      super(address, protocols);
      sockets.push(this);
    }
  }
  const watcher = connect(url, { WebSocket: Noted, reconnect: { baseMs: 1, capMs: 1 } });
  onTestFinished(() => watcher.close());
  const watch = watcher.watch({ prefix: "doc:" });
  await vi.waitUntil(() => watch.states.size === 250, PATIENCE);
  const told: KeyState[] = [];
  watch.addEventListener("change", ({ detail }) => told.push(...detail));
  // A connection may be away for less than a look at it every few ms would notice.
  const isAway = new Promise<void>((resolve) => {
    watch.addEventListener("change", () => {
      if (!watch.isCurrent) resolve();
    });
  });
  sockets[0]!.close();
  await isAway;
  await vi.waitUntil(() => sockets.length > 1 && watch.isCurrent, PATIENCE);
  expect([told.filter(({ status }) => status === "free").length, watch.states.size]).toEqual([0, 250]);
});

test("over HTTP a lock is handed to a session that waits", async () => {
  const { url, join } = await overSocket();
  const lock = await httpClient(url).acquire("doc");
  const [first, second] = [join(), join()];
  first.acquire("doc").catch(() => undefined);
  await vi.waitUntil(async () => (await first.status("doc")).waiting === 1, PATIENCE);
  const waiting = second.acquire("doc");
  await vi.waitUntil(async () => (await first.status("doc")).waiting === 2, PATIENCE);
  await expect(lock.handTo("nobody")).rejects.toMatchObject({ code: "not_waiting" });
  await lock.handTo(second.session!);
  expect((await waiting).fence).toBeGreaterThan(lock.fence);
  await lock.release();
});
