// What a browser does to a page, and what becomes of its locks. The server's deadline is 15 s: whatever is free sooner than
// that was not merely silent.

import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type Browser, chromium, firefox } from "./support/browser.ts";
import type { Heard, LifeCalls } from "./support/life-calls.ts";
import { Observer } from "./support/observer.ts";
import { Site } from "./support/site.ts";
import { inBrowserCalmly } from "./support/suite.ts";
import { Tab } from "./support/tab.ts";

/** So soon is a lock free that a page leaves, ms. */
const SOON_MS = 200;
/** A machine that is busy with other things is late, but not so many times. */
const ROUNDS_MAX = 20;
/** Where there is one time only it may be this late, ms, while nothing stands still. */
const AT_ONCE_MS = 2_000;
const PATIENCE = { timeout: 20_000, interval: 20 };

let site: Site;
let page: string;
let elsewhere: string;
let observer: Observer;

beforeAll(async () => {
  site = await Site.start();
  page = await site.page("life.ts");
  elsewhere = site.html("/elsewhere", "<body>elsewhere</body>");
  observer = new Observer(site.latchkey);
});

afterAll(async () => {
  await site[Symbol.asyncDispose]();
});

let keys = 0;

/** A page that holds a key of its own, and somebody who waits for that. */
async function holding(
  browser: Browser,
  query = "",
): Promise<{ readonly tab: Tab<LifeCalls>; readonly key: string; readonly free: Promise<number> }> {
  const key = `doc-${++keys}`;
  const tab = await browser.open<LifeCalls>(page + query);
  expect(await tab.call("acquire", key)).toBeTypeOf("number");
  const { free } = await observer.queueFor(key);
  return { tab, key, free };
}

/** Does something to the page, and tells how soon the server has granted its key to somebody else, ms. */
async function freedAfter(free: Promise<number>, deed: () => unknown): Promise<number> {
  const startedAt = performance.now();
  const done = Promise.resolve(deed());
  const tookMs = (await free) - startedAt;
  await done;
  return tookMs;
}

async function freedBy(what: string, browser: Browser, free: Promise<number>, deed: () => unknown): Promise<void> {
  const tookMs = await freedAfter(free, deed);
  console.log(`${browser.kind.name}: ${what}: the lock is free after ${tookMs.toFixed(0)} ms`);
  expect(tookMs).toBeLessThan(AT_ONCE_MS);
}

/** Does it to one page after another, until one of them was soon enough. */
async function freedSoonBy(what: string, browser: Browser, deed: (tab: Tab<LifeCalls>) => unknown): Promise<void> {
  const took: number[] = [];
  do {
    const { tab, free } = await holding(browser);
    await using _ = tab;
    took.push(await freedAfter(free, () => deed(tab)));
  } while (Math.min(...took) >= SOON_MS && took.length < ROUNDS_MAX);
  const list = took.map((ms) => ms.toFixed(0)).join(", ");
  console.log(`${browser.kind.name}: ${what}: the lock is free after ${list} ms`);
  expect(Math.min(...took)).toBeLessThan(SOON_MS);
}

/** What the page has heard, once it has heard this. */
async function heard(tab: Tab<LifeCalls>, type: string): Promise<readonly Heard[]> {
  return vi.waitFor(async () => {
    const all = await tab.call("heard");
    expect(all.map((one) => one.type)).toContain(type);
    return all;
  }, PATIENCE);
}

for (const kind of [chromium, firefox]) {
  inBrowserCalmly(kind, (browser) => {
    test("a page that goes elsewhere has let go of its lock within 200 ms", async () => {
      await freedSoonBy("navigate away", browser(), (tab) => tab.page.goto(elsewhere));
    });

    test("a page that is loaded again has let go of its lock at once, and can have it again", async () => {
      const { tab, key, free } = await holding(browser());
      await using _ = tab;
      const session = await tab.call("session");
      await freedBy("reload", browser(), free, () => tab.page.reload());
      expect(await tab.call("acquire", key)).toBeTypeOf("number");
      expect(await tab.call("session")).not.toBe(session);
    });

    test("a page that is loaded again does not wait for itself", async () => {
      await using tab = await browser().open<LifeCalls>(page);
      await tab.call("acquire", "mine");
      await tab.page.reload();
      expect(await tab.call("acquire", "mine", AT_ONCE_MS)).toBeTypeOf("number");
    });

    test("a page that was left and comes back, from a cache or loaded again, can work again", async () => {
      const { tab, key, free } = await holding(browser());
      await using _ = tab;
      await tab.page.goto(elsewhere);
      await free;
      await tab.page.goBack();
      await vi.waitFor(async () => expect(await tab.call("connection")).toBe("connected"), PATIENCE);
      expect(await tab.call("isHeld", key)).toBe(false);
      expect(await tab.call("acquire", key)).toBeTypeOf("number");
    });

    test("a tab that is closed has let go of its lock at once", async () => {
      const { tab, free } = await holding(browser());
      await freedBy("close", browser(), free, () => tab.page.close());
    });
  });
}

inBrowserCalmly(chromium, (browser) => {
  test("a page in the back-forward cache holds nothing, and comes back to know it", async () => {
    const { tab, key, free } = await holding(browser());
    await using _ = tab;
    const before = await tab.call("session");
    await freedBy("into the back-forward cache", browser(), free, () => tab.page.goto(elsewhere));
    await tab.page.goBack();
    const all = await heard(tab, "pageshow");
    const types = all.map(({ type }) => type);
    expect(all.find(({ type }) => type === "pagehide")).toMatchObject({ persisted: true });
    // The first one is of the load.
    expect(all.findLast(({ type }) => type === "pageshow")).toMatchObject({ persisted: true });
    // From the moment that it was lost, which was before the page's own listeners heard that it is left, nobody took it for held.
    const lostAt = types.indexOf(`lost ${key}`);
    expect(lostAt).toBeGreaterThanOrEqual(0);
    expect(lostAt).toBeLessThan(types.indexOf("pagehide"));
    expect(all.slice(lostAt).flatMap(({ held }) => held)).toEqual([]);
    expect(await tab.call("lossOf", key)).toBe("dropped");
    await vi.waitFor(async () => expect(await tab.call("connection")).toBe("connected"), PATIENCE);
    expect(await tab.call("session")).not.toBe(before);
    expect(await tab.call("acquire", key)).toBeTypeOf("number");
  });

  test.each([
    { outcome: "is refused", query: "", end: "away" },
    { outcome: "queues anew with requeue", query: "?requeue", end: expect.any(Number) as number },
  ])("a wait in a page that was cached $outcome", async ({ query, end }) => {
    await using other = await browser().open<LifeCalls>(page);
    await using tab = await browser().open<LifeCalls>(page + query);
    const key = `wait${query}`;
    await other.call("acquire", key);
    await tab.call("wait", key);
    await vi.waitFor(async () => expect(await observer.waiting(key)).toBe(1), PATIENCE);
    await tab.page.goto(elsewhere);
    await vi.waitFor(async () => expect(await observer.waiting(key)).toBe(0), PATIENCE);
    await tab.page.goBack();
    if (query !== "") await vi.waitFor(async () => expect(await observer.waiting(key)).toBe(1), PATIENCE);
    await other.page.close();
    await vi.waitFor(async () => expect(await tab.call("waited", key)).toEqual(end), PATIENCE);
  });

  test("a frozen tab has let go before it freezes, and learns that before anything else", async () => {
    const { tab, key, free } = await holding(browser());
    await using _ = tab;
    const devtools = await tab.devtools();
    await freedBy("freeze", browser(), free, () => devtools.send("Page.setWebLifecycleState", { state: "frozen" }));
    await devtools.send("Page.setWebLifecycleState", { state: "active" });
    const all = await heard(tab, "resume");
    const types = all.map(({ type }) => type);
    expect(types.indexOf(`lost ${key}`)).toBeLessThan(types.indexOf("freeze"));
    expect(all.slice(types.indexOf(`lost ${key}`)).flatMap(({ held }) => held)).toEqual([]);
    await vi.waitFor(async () => expect(await tab.call("connection")).toBe("connected"), PATIENCE);
    expect(await tab.call("acquire", key)).toBeTypeOf("number");
  });

  test("what a page watches is current again after it was frozen, and was not taken for current meanwhile", async () => {
    await using tab = await browser().open<LifeCalls>(page);
    await tab.call("watch", "watched");
    const shows = (isCurrent: boolean, holders: number): Promise<void> =>
      vi.waitFor(async () => expect(await tab.call("watched", "watched")).toEqual({ isCurrent, holders }), PATIENCE);
    await shows(true, 0);
    const devtools = await tab.devtools();
    await devtools.send("Page.setWebLifecycleState", { state: "frozen" });
    await shows(false, 0);
    await using _ = await site.latchkey.locks.acquire("watched");
    await devtools.send("Page.setWebLifecycleState", { state: "active" });
    await shows(true, 1);
  });

  test("a tab that crashes has let go of its lock at once", async () => {
    const { tab, free } = await holding(browser());
    await using _ = tab;
    const devtools = await tab.devtools();
    await freedBy("crash", browser(), free, () => {
      devtools.send("Page.crash").catch(() => undefined);
    });
  });

  test("a page whose network is gone has lost its lock, and does not wait for long once the network is back", async () => {
    const { tab, key, free } = await holding(browser());
    await using _ = tab;
    const attempts = await connecting(tab);
    await tab.page.setOfflineMode(true);
    await freedBy("offline", browser(), free, () => site.cut());
    expect(await tab.call("lossOf", key)).toBe("dropped");
    // After the ninth failure it would wait for 5.1 s.
    await vi.waitFor(() => expect(attempts()).toBe(9), PATIENCE);
    await tab.page.setOfflineMode(false);
    const back = (await heard(tab, "online")).find(({ type }) => type === "online")!;
    const connected = await vi.waitFor(async () => {
      const last = (await tab.call("heard")).at(-1)!;
      expect(last.type).toBe("connected");
      return last;
    }, PATIENCE);
    console.log(`chromium: online: connected again after ${connected.at - back.at} ms`);
    expect(connected.at - back.at).toBeLessThan(AT_ONCE_MS);
    expect(await tab.call("acquire", key)).toBeTypeOf("number");
  });

  test("a connection that only looks open when the network is back is replaced within seconds", async () => {
    const { tab, key } = await holding(browser());
    await using _ = tab;
    const before = await tab.call("session");
    await tab.page.setOfflineMode(true);
    using _deaf = site.deafen();
    await tab.page.setOfflineMode(false);
    await heard(tab, `lost ${key}`);
    await vi.waitFor(async () => expect(await tab.call("connection")).toBe("connected"), PATIENCE);
    expect(await tab.call("session")).not.toBe(before);
    const all = await tab.call("heard");
    const online = all.find(({ type }) => type === "online")!;
    const lost = all.find(({ type }) => type === `lost ${key}`)!;
    // 3 s for the proof; the heartbeat would have taken at least 8.5 s.
    expect(lost.at - online.at).toBeGreaterThan(2_900);
    expect(lost.at - online.at).toBeLessThan(8_000);
  });

  test("a duplicate of a tab is somebody else, and knows nothing of the first one's session", async () => {
    await using tab = await browser().open<LifeCalls>(page);
    await tab.call("acquire", "original");
    const session = await tab.call("session");
    // What the browser copies when a tab is duplicated, and all that scripts of the page could find otherwise.
    expect(await tab.call("remembered")).toBe(JSON.stringify([[], [], "", null, "", [], [], page]));
    const [target] = await Promise.all([
      browser().driven.waitForTarget((candidate) => candidate.opener() === tab.page.target()),
      // A window that is opened by script gets a copy of the session storage, as a duplicate does.
      tab.evaluate(`void open(location.href)`),
    ]);
    await using copy = new Tab<LifeCalls>((await target.page())!);
    await copy.page.waitForFunction("globalThis.calls !== undefined");
    const other = await copy.call("session");
    expect(other).not.toBe(session);
    expect(await observer.holders("original")).toEqual([session]);
    expect(await copy.call("acquire", "original", 100)).toBe("timeout");
    // The copy's end is not the original's.
    await copy.page.close();
    expect(await tab.call("isHeld", "original")).toBe(true);
    expect(await observer.holders("original")).toEqual([session]);
  });
});

/** Counts from now on how often the page has tried to connect. */
async function connecting(tab: Tab<LifeCalls>): Promise<() => number> {
  const devtools = await tab.devtools();
  let count = 0;
  devtools.on("Network.webSocketCreated", () => {
    count += 1;
  });
  await devtools.send("Network.enable");
  return () => count;
}
