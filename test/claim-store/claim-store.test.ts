import { describe, expect, test, vi } from "vitest";
import { ClaimStore, type ClaimShare } from "../../src/claim-store/claim-store.ts";
import type { ConnectOptions } from "../../src/client/index.ts";
import { connected, grantOf, greet, scripted, type Scripted, welcome } from "../client/support/scripted-server.ts";
import { settle } from "../client/support/virtual-time.ts";

interface Ui {
  readonly server: Scripted;
  readonly store: ClaimStore;
  /** Ends the present turn: what was put off runs. */
  readonly nextTurn: () => Promise<void>;
}

function ui(server: Scripted): Ui {
  const put = new Set<() => void>();
  const store = new ClaimStore(server.client, (run) => {
    put.add(run);
    return () => put.delete(run);
  });
  const nextTurn = async (): Promise<void> => {
    for (const run of put) {
      put.delete(run);
      run();
    }
    await settle();
  };
  return { server, store, nextTurn };
}

async function start(options?: ConnectOptions): Promise<Ui> {
  return ui(await connected(options));
}

/** A part of a user interface. `leave` as when it is removed. */
function part({ store }: Ui, key = "a", options: { mode?: "shared"; limit?: number } = {}) {
  const share = store.share({ key, ...options });
  let stop = (): void => undefined;
  const seen: string[] = [];
  return {
    share,
    seen,
    mount: () => {
      stop = share.subscribe(() => void seen.push(share.getSnapshot().state));
    },
    unmount: () => {
      stop();
      share.leave();
    },
  };
}

function frames({ server }: Ui, kind: string): { id: string; [member: string]: unknown }[] {
  const sent = server.end().sent() as { t: string; id: string }[];
  return sent.filter(({ t }) => t === kind);
}

/** Acquires and is granted. */
async function hold(view: Ui, share: ClaimShare): Promise<{ id: string }> {
  share.acquire();
  await settle();
  const { id } = frames(view, "acquire")[0]!;
  await view.server.end().say(grantOf(id, "a", { fence: 42 }));
  return { id };
}

describe("a claim", () => {
  test("is idle until it is wanted, and looking at it makes nothing", async () => {
    const view = await start();
    const { share } = part(view);
    expect(share.getSnapshot()).toMatchObject({ state: "idle", waiting: 0, holders: [], asks: [], isCurrent: false });
    expect(share.getSnapshot()).toBe(share.getSnapshot());
    share.leave();
    await share.release();
    expect(view.server.end().sent()).toEqual([]);
  });

  test("connects, waits with its place, is held with its fence, and is idle after its release", async () => {
    const view = ui(await scripted());
    const { share, seen, mount } = part(view);
    mount();
    share.options = { ttl: 5_000, meta: { name: "Ada" } };
    share.acquire();
    expect(share.getSnapshot().state).toBe("connecting");
    await greet(view.server);
    await settle();
    const sent = view.server.end().sent() as { t: string; id: string }[];
    expect(sent).toMatchObject([
      { t: "acquire", key: "a", ttl: 5_000, meta: { name: "Ada" }, mode: "exclusive" },
      { t: "watch", key: "a" },
    ]);
    expect(share.getSnapshot().state).toBe("waiting");
    const holders = [{ session: "session-2", mode: "exclusive", fence: 7, since: 1 }];
    const state = { t: "state", id: sent[1]!.id, full: true };
    await view.server
      .end()
      .say(JSON.stringify({ ...state, keys: [{ key: "a", status: "held", holders, waiting: 3, position: 3 }] }));
    expect(share.getSnapshot()).toMatchObject({ state: "waiting", position: 3, waiting: 3, holders, isCurrent: true });
    await view.server.end().say(grantOf(sent[0]!.id, "a", { fence: 42 }));
    const held = share.getSnapshot();
    expect(held).toMatchObject({ state: "held", fence: 42, position: undefined });
    expect(held.signal!.aborted).toBe(false);
    const asks = [{ session: "session-3", message: "may I?", since: 2 }];
    await view.server
      .end()
      .say(JSON.stringify({ ...state, keys: [{ key: "a", status: "held", holders, waiting: 1, asks }] }));
    expect(share.getSnapshot().asks).toEqual(asks);
    share.release().catch(() => undefined);
    expect(share.getSnapshot()).toMatchObject({ state: "idle", fence: undefined, signal: undefined, asks: [] });
    expect(frames(view, "release")).toHaveLength(1);
    expect(seen).toEqual(expect.arrayContaining(["connecting", "waiting", "held", "idle"]));
  });

  test("snapshots are other objects only when something changed", async () => {
    const view = await start();
    const { share, mount, seen } = part(view);
    mount();
    await hold(view, share);
    const before = share.getSnapshot();
    const calls = seen.length;
    share.acquire();
    await settle();
    expect(share.getSnapshot()).toBe(before);
    expect(seen).toHaveLength(calls);
    expect(Object.isFrozen(before)).toBe(true);
  });

  test("a loss is told at once, with how and by whom, and asking again forgets it", async () => {
    const view = await start();
    const { share, mount } = part(view);
    mount();
    share.options = { requeue: true };
    const { id } = await hold(view, share);
    const { signal } = share.getSnapshot();
    const states: string[] = [];
    signal!.addEventListener("abort", () => states.push(share.getSnapshot().state));
    const by = { session: "session-2", message: "mine now" };
    await view.server.end().say({ t: "lost", id, key: "a", reason: "stolen", by });
    // Requeue is for accidents: who took it wants to have it.
    expect(share.getSnapshot()).toMatchObject({ state: "lost", lossReason: "stolen", by, fence: undefined });
    expect(share.getSnapshot().signal).toBe(signal);
    expect(states).toEqual(["lost"]);
    expect(frames(view, "acquire")).toEqual([]);
    share.acquire();
    expect(share.getSnapshot()).toMatchObject({ state: "waiting", lossReason: undefined, by: undefined });
  });

  test("a claim that was lost with the connection stays lost, or queues again if it was told to", async () => {
    for (const requeue of [false, true]) {
      const view = await start();
      const { share, mount } = part(view);
      mount();
      share.options = { requeue };
      await hold(view, share);
      await view.server.end().drop();
      expect(share.getSnapshot()).toMatchObject({ state: requeue ? "connecting" : "lost", lossReason: "dropped" });
      await view.server.time.advance(1_000);
      await view.server.end().open();
      await view.server.end().say(welcome({ session: "session-2" }));
      const acquires = frames(view, "acquire");
      expect(acquires).toHaveLength(requeue ? 1 : 0);
      if (!requeue) continue;
      await view.server.end().say(grantOf(acquires[0]!.id, "a"));
      expect(share.getSnapshot()).toMatchObject({ state: "held", lossReason: undefined });
    }
  });

  test("a loss with the connection is told as one, and never as if nobody had wanted the lock", async () => {
    for (const requeue of [false, true]) {
      const view = await start();
      const { share, mount, seen } = part(view);
      mount();
      await settle();
      const { id } = frames(view, "watch")[0]!;
      share.options = { requeue };
      await hold(view, share);
      const keys = [{ key: "a", status: "held", holders: [], waiting: 0 }];
      await view.server.end().say(JSON.stringify({ t: "state", id, full: true, keys }));
      expect(share.getSnapshot()).toMatchObject({ state: "held", isCurrent: true });
      seen.length = 0;
      await view.server.end().drop();
      expect(share.getSnapshot().isCurrent).toBe(false);
      expect(new Set(seen)).toEqual(new Set([requeue ? "connecting" : "lost"]));
    }
  });

  test.each(["expired", "dropped", "unknown"])(
    "a claim that was lost because it is %s queues again if it was told to",
    async (reason) => {
      for (const requeue of [false, true]) {
        const view = await start();
        const { share, mount } = part(view);
        mount();
        share.options = { requeue };
        const { id } = await hold(view, share);
        await view.server.end().say({ t: "lost", id, key: "a", reason: reason as "expired" });
        expect(share.getSnapshot()).toMatchObject({ state: requeue ? "waiting" : "lost", lossReason: reason });
        expect(frames(view, "acquire")).toHaveLength(requeue ? 1 : 0);
      }
    },
  );

  test("a wait whose page was left is unavailable, or queues again when the page is back if it was told to", async () => {
    for (const requeue of [false, true]) {
      const page = Object.assign(new EventTarget(), { document: { hidden: false } });
      const server = await scripted({}, undefined, page);
      await greet(server);
      const view = ui(server);
      const { share, mount } = part(view);
      mount();
      share.options = { requeue };
      share.acquire();
      await settle();
      expect(frames(view, "acquire")).toHaveLength(1);
      page.dispatchEvent(new Event("pagehide"));
      await settle();
      const away = requeue ? { state: "connecting" } : { state: "unavailable", error: { code: "away" } };
      expect(share.getSnapshot()).toMatchObject(away);
      page.dispatchEvent(new Event("pageshow"));
      await settle();
      await greet(server, { session: "session-2" });
      expect(frames(view, "acquire")).toHaveLength(requeue ? 1 : 0);
    }
  });

  test("what is refused is an error, what cannot be served is unavailable, and either may be tried again", async () => {
    const view = await start();
    const { share, mount } = part(view);
    mount();
    for (const [code, state] of [
      ["forbidden", "error"],
      ["internal", "unavailable"],
    ] as const) {
      share.acquire();
      await settle();
      const { id } = frames(view, "acquire")[0]!;
      await view.server.end().say({ t: "refused", id, code, detail: code, retryable: false });
      expect(share.getSnapshot()).toMatchObject({ state, error: { code } });
    }
    view.server.client.close().catch(() => undefined);
    share.acquire();
    expect(share.getSnapshot().error).toBeUndefined();
    await settle();
    expect(share.getSnapshot()).toMatchObject({ state: "unavailable", error: { code: "session_closed" } });
  });
});

describe("parts that share a claim", () => {
  test("ask once, see the same, and it is let go with the last that wanted it, not with those that only look", async () => {
    const view = await start();
    const [one, two, looker] = [part(view), part(view), part(view)];
    for (const { mount } of [one, two, looker]) mount();
    one.share.acquire();
    two.share.acquire();
    await settle();
    const acquires = frames(view, "acquire");
    expect(acquires).toHaveLength(1);
    await view.server.end().say(grantOf(acquires[0]!.id, "a"));
    for (const { share } of [one, two, looker]) expect(share.getSnapshot().state).toBe("held");
    one.unmount();
    await view.nextTurn();
    expect(two.share.getSnapshot().state).toBe("held");
    two.unmount();
    expect(looker.share.getSnapshot().state).toBe("held");
    await view.nextTurn();
    expect(looker.share.getSnapshot().state).toBe("idle");
    expect(frames(view, "release")).toHaveLength(1);
  });

  test("another mode or limit is another claim", async () => {
    const view = await start();
    for (const options of [{}, { mode: "shared" }, { mode: "shared", limit: 2 }] as const) {
      part(view, "a", options).share.acquire();
    }
    await settle();
    expect(frames(view, "acquire").map(({ mode, limit }) => [mode, limit])).toEqual([
      ["exclusive", undefined],
      ["shared", undefined],
      ["shared", 2],
    ]);
  });

  test("keys that JSON would make alike are kept apart", async () => {
    const view = await start();
    part(view, "\uD800").share.acquire();
    part(view, "\uFFFD").share.acquire();
    await settle();
    expect(frames(view, "acquire")).toHaveLength(2);
  });

  test("a release by one is a release for all, and one that still wants it may ask again", async () => {
    const view = await start();
    const [one, two] = [part(view), part(view)];
    for (const { mount } of [one, two]) mount();
    await hold(view, one.share);
    two.share.acquire();
    two.share.release().catch(() => undefined);
    expect(one.share.getSnapshot().state).toBe("idle");
    expect(frames(view, "release")).toHaveLength(1);
    // From then on the other one is not among those that want it.
    await hold(view, one.share);
    one.unmount();
    await view.nextTurn();
    expect(frames(view, "release")).toHaveLength(1);
  });
});

describe("a part that is removed and put back", () => {
  test("in one turn keeps the lock", async () => {
    const view = await start();
    const { share, mount, unmount } = part(view);
    mount();
    await hold(view, share);
    unmount();
    mount();
    share.acquire();
    await view.nextTurn();
    expect(share.getSnapshot().state).toBe("held");
    expect(view.server.end().sent()).toEqual([]);
  });

  test("in one turn keeps its place, also as another part", async () => {
    const view = await start();
    const [old, fresh] = [part(view), part(view)];
    old.mount();
    old.share.acquire();
    await settle();
    view.server.end().sent();
    old.unmount();
    fresh.mount();
    fresh.share.acquire();
    await view.nextTurn();
    expect(fresh.share.getSnapshot().state).toBe("waiting");
    expect(view.server.end().sent()).toEqual([]);
  });

  test("with another mode or limit makes way for itself, and not for others", async () => {
    const view = await start();
    const [before, after, other] = [
      part(view, "a", { mode: "shared", limit: 2 }),
      part(view, "a"),
      part(view, "a", { mode: "shared", limit: 3 }),
    ];
    before.mount();
    await hold(view, before.share);
    before.unmount();
    after.mount();
    after.share.acquire();
    const sent = (): string[] => (view.server.end().sent() as { t: string }[]).map(({ t }) => t);
    await settle();
    expect(sent()).toEqual(["release", "acquire"]);
    // A part that stays keeps what it wants.
    other.mount();
    other.share.acquire();
    await view.nextTurn();
    expect(sent()).toEqual(["acquire"]);
  });

  test("later has let go: a wait is cancelled, and so is a grant that crosses the cancel", async () => {
    const view = await start();
    const { share, mount, unmount } = part(view);
    mount();
    share.acquire();
    await settle();
    const { id } = frames(view, "acquire")[0]!;
    unmount();
    await view.nextTurn();
    expect(frames(view, "cancel")).toEqual([{ t: "cancel", id }]);
    await view.server.end().say(grantOf(id, "a"));
    expect(frames(view, "release")).toHaveLength(1);
  });

  test("nothing is left of it: no watch, no listener, no claim", async () => {
    const view = await start();
    const { client } = view.server;
    const subscribe = client.subscribe.bind(client);
    let listeners = 0;
    vi.spyOn(client, "subscribe").mockImplementation((listener) => {
      const stop = subscribe(listener);
      listeners += 1;
      return () => {
        listeners -= 1;
        stop();
      };
    });
    const { share, mount, unmount } = part(view);
    const unused = part(view).share.getSnapshot();
    const unknown = view.store.key("a").getSnapshot();
    mount();
    await settle();
    const { id } = frames(view, "watch")[0]!;
    await hold(view, share);
    const keys = [{ key: "a", status: "held", holders: [], waiting: 3 }];
    await view.server.end().say(JSON.stringify({ t: "state", id, full: true, keys }));
    expect([listeners, share.getSnapshot().waiting, view.store.key("a").getSnapshot().waiting]).toEqual([1, 3, 3]);
    unmount();
    await view.nextTurn();
    expect(frames(view, "unwatch")).toHaveLength(1);
    expect(listeners).toBe(0);
    expect(share.getSnapshot()).toBe(unused);
    expect(view.store.key("a").getSnapshot()).toEqual(unknown);
    mount();
    await settle();
    expect(frames(view, "watch")).toHaveLength(1);
  });
});

describe("taking over, asking, handing on", () => {
  test("a steal keeps the place in the queue until the lock is there, and leaves the queue then", async () => {
    const view = await start();
    const { share, mount } = part(view);
    mount();
    share.acquire();
    await settle();
    const waiting = frames(view, "acquire")[0]!;
    const stealing = share.steal("my turn");
    await settle();
    const stolen = frames(view, "acquire")[0]!;
    expect(stolen).toMatchObject({ steal: true, message: "my turn" });
    await view.server.end().say(grantOf(stolen.id, "a", { fence: 50 }));
    await stealing;
    expect(share.getSnapshot()).toMatchObject({ state: "held", fence: 50 });
    expect(frames(view, "cancel")).toEqual([{ t: "cancel", id: waiting.id }]);
  });

  test("a steal that is forbidden leaves everything as it was", async () => {
    const view = await start();
    const { share, mount } = part(view);
    mount();
    for (const before of ["idle", "waiting"]) {
      if (before === "waiting") share.acquire();
      await settle();
      view.server.end().sent();
      const stealing = share.steal("my turn");
      expect(share.getSnapshot().state).toBe("waiting");
      await settle();
      const { id } = frames(view, "acquire")[0]!;
      await view.server.end().say({ t: "refused", id, code: "forbidden", detail: "no", retryable: false });
      await expect(stealing).rejects.toMatchObject({ code: "forbidden" });
      expect(share.getSnapshot()).toMatchObject({ state: before, error: undefined });
    }
  });

  test("a steal that is asked for twice at once is one, and does not take the lock from itself", async () => {
    const view = await start();
    const [one, two] = [part(view), part(view)];
    one.mount();
    two.mount();
    const stealing = [one.share.steal("my turn"), one.share.steal("my turn"), two.share.steal("mine")];
    await settle();
    const [steal, ...more] = frames(view, "acquire");
    expect([steal!["message"], more]).toEqual(["my turn", []]);
    await view.server.end().say(grantOf(steal!.id, "a", { fence: 42 }));
    await Promise.all(stealing);
    expect(two.share.getSnapshot()).toMatchObject({ state: "held", fence: 42 });
    one.unmount();
    await view.nextTurn();
    expect(frames(view, "release")).toEqual([]);
    two.unmount();
    await view.nextTurn();
    expect(frames(view, "release")).toHaveLength(1);
  });

  test("who may not steal does not keep the lock that another part has and lets go", async () => {
    const view = await start();
    const [thief, owner] = [part(view), part(view)];
    thief.mount();
    owner.mount();
    const stealing = thief.share.steal("my turn");
    await settle();
    const { id } = frames(view, "acquire")[0]!;
    await view.server.end().say({ t: "refused", id, code: "forbidden", detail: "no", retryable: false });
    await expect(stealing).rejects.toMatchObject({ code: "forbidden" });
    await hold(view, owner.share);
    owner.unmount();
    await view.nextTurn();
    expect(frames(view, "release")).toHaveLength(1);
  });

  test("asking queues first, and a withdrawal does not", async () => {
    const view = await start();
    const { share, mount } = part(view);
    mount();
    await expect(share.requestAccess(undefined, { withdraw: true })).rejects.toMatchObject({ code: "not_waiting" });
    expect(share.getSnapshot().state).toBe("idle");
    const asking = share.requestAccess("may I?");
    expect(share.getSnapshot().state).toBe("waiting");
    await settle();
    const sent = view.server.end().sent() as { t: string; id: string; claim?: string }[];
    const [acquire, request] = ["acquire", "request_access"].map((kind) => sent.find(({ t }) => t === kind)!);
    expect(request).toMatchObject({ claim: acquire!.id, message: "may I?" });
    await view.server.end().say({ t: "access_requested", id: request!.id });
    expect(await asking).toBeUndefined();
  });

  test("a lock that is handed on is wanted no more; without a lock there is nothing to hand on", async () => {
    const view = await start();
    const { share, mount } = part(view);
    mount();
    await expect(share.handTo("session-2")).rejects.toMatchObject({ code: "not_held" });
    await hold(view, share);
    const handing = share.handTo("session-2");
    await settle();
    await view.server.end().say({ t: "released", id: frames(view, "hand_to")[0]!.id, depth: 0 });
    await handing;
    expect(share.getSnapshot()).toMatchObject({ state: "idle", lossReason: undefined });
    expect(frames(view, "release")).toEqual([]);
  });
});

describe("what is only looked at", () => {
  test("a key's state is free and not current until the server has told, and one watch serves all who look", async () => {
    const view = await start();
    const shown = view.store.key("a");
    expect(shown.getSnapshot()).toEqual({ key: "a", status: "free", holders: [], waiting: 0, isCurrent: false });
    expect(shown.getSnapshot()).toBe(shown.getSnapshot());
    let calls = 0;
    const stops = [shown, view.store.key("a")].map(({ subscribe }) => subscribe(() => void calls++));
    await settle();
    const watches = frames(view, "watch");
    expect(watches).toHaveLength(1);
    await view.server.end().say(
      JSON.stringify({
        t: "state",
        id: watches[0]!.id,
        full: true,
        keys: [{ key: "a", status: "free", holders: [], waiting: 0 }],
      }),
    );
    expect(shown.getSnapshot()).toMatchObject({ status: "free", isCurrent: true });
    expect(calls).toBe(2);
    await view.server.end().drop();
    expect(shown.getSnapshot().isCurrent).toBe(false);
    for (const stop of stops) stop();
  });

  test("a key that was one too many to be watched is watched as soon as another is not", async () => {
    const view = await start();
    const stop = view.store.key("a").subscribe(() => undefined);
    const shown = view.store.key("b");
    const stopShown = shown.subscribe(() => undefined);
    await settle();
    const [, refused] = frames(view, "watch");
    const tooMany = { t: "refused", code: "limit", limit: "watches", detail: "too many", retryable: true };
    await view.server.end().say(JSON.stringify({ ...tooMany, id: refused!.id }));
    expect(shown.getSnapshot()).toMatchObject({ isCurrent: false });
    stop();
    await view.nextTurn();
    const again = frames(view, "watch");
    expect(again).toMatchObject([{ key: "b" }]);
    const holders = [{ session: "s2", mode: "exclusive", fence: 1, since: 1 }];
    const keys = [{ key: "b", status: "held", holders, waiting: 0 }];
    await view.server.end().say(JSON.stringify({ t: "state", id: again[0]!.id, full: true, keys }));
    expect(shown.getSnapshot()).toMatchObject({ status: "held", isCurrent: true });
    stopShown();
    await view.nextTurn();
    expect(frames(view, "unwatch")).toHaveLength(1);
    expect(frames(view, "watch")).toEqual([]);
  });

  test("the session is told with its id, and another object only when it changed", async () => {
    const view = ui(await scripted());
    const { subscribe, getSnapshot } = view.store.session;
    let calls = 0;
    subscribe(() => void calls++);
    expect(getSnapshot()).toEqual({ status: "connecting", session: undefined });
    expect(getSnapshot()).toBe(getSnapshot());
    await greet(view.server);
    expect(getSnapshot()).toEqual({ status: "connected", session: "session-1" });
    await view.server.end().drop();
    expect(getSnapshot()).toEqual({ status: "reconnecting", session: undefined });
    expect(calls).toBe(2);
  });
});
