import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { renderToString } from "react-dom/server";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type Client, connect, type Contended } from "../../src/client/index.ts";
import { chromium, firefox } from "./support/browser.ts";
import type { ReactCalls } from "./support/react-calls.ts";
import { application, type Part, type View } from "./support/react-view.ts";
import { Site } from "./support/site.ts";
import { inBrowser } from "./support/suite.ts";
import type { Tab } from "./support/tab.ts";

const one: Part = { name: "one", lockKey: "a", auto: true };
const two: Part = { name: "two", lockKey: "a", auto: true };
const NOTHING: View = { parts: [] };

let site: Site;
let page: string;
let serial = 0;

beforeAll(async () => {
  site = await Site.start();
  page = await site.page("react.ts", { body: '<div id="app"></div>' });
});

afterAll(() => site[Symbol.asyncDispose]());

for (const kind of [chromium, firefox]) {
  inBrowser(kind, (browser) => {
    /** A page, and somebody else, in a space of their own. */
    async function start(): Promise<{ tab: Tab<ReactCalls>; other: Client } & AsyncDisposable> {
      const space = `react-${(serial += 1)}`;
      const other = connect(site.url, { space });
      const tab = await browser().open<ReactCalls>(`${page}?space=${space}`);
      return {
        tab,
        other,
        [Symbol.asyncDispose]: async () => {
          expect([tab.errors, await tab.call("complaints")]).toEqual([[], []]);
          await tab[Symbol.asyncDispose]();
          await other.close();
        },
      };
    }

    async function shows(tab: Tab<ReactCalls>, name: string, seen: object): Promise<void> {
      await expect.poll(() => tab.call("seen", name), PATIENCE).toMatchObject(seen);
    }

    test("in strict mode, which mounts everything twice, a component makes one claim and keeps it", async () => {
      await using world = await start();
      const { tab, other } = world;
      const before = await acquires();
      const first = await other.acquire("a");
      await tab.call("show", { parts: [one] });
      await expect.poll(async () => (await other.status("a")).waiting, PATIENCE).toBe(1);
      const second = other.acquire("a");
      await expect.poll(async () => (await other.status("a")).waiting, PATIENCE).toBe(2);
      await first.release();
      await shows(tab, "one", { state: "held", isAborted: false });
      await tab.call("show", NOTHING);
      await (await second).release();
      expect(await acquires()).toBe(before + 3);
    });

    test("a component that is taken away and put back in one turn keeps the lock, however often", async () => {
      await using world = await start();
      const { tab, other } = world;
      await tab.call("show", { parts: [one] });
      await shows(tab, "one", { state: "held" });
      const { fence } = (await tab.call("seen", "one"))!;
      const next = other.acquire("a");
      await expect.poll(async () => (await other.status("a")).waiting, PATIENCE).toBe(1);
      const views = Array.from({ length: 20 }, (_, i) => ({ parts: i % 2 === 0 ? [] : [i % 4 === 1 ? one : two] }));
      await tab.call("show", ...views);
      await shows(tab, "two", { state: "held", fence, isAborted: false });
      expect((await other.status("a")).waiting).toBe(1);
      await tab.call("show", NOTHING, { parts: [one] }, NOTHING);
      await (await next).release();
    });

    test("another key while it waits leaves the old queue at once", async () => {
      await using world = await start();
      const { tab, other } = world;
      const lock = await other.acquire("a");
      await tab.call("show", { parts: [one] });
      await expect.poll(async () => (await other.status("a")).waiting, PATIENCE).toBe(1);
      await tab.call("show", { parts: [{ ...one, lockKey: "b" }] });
      await shows(tab, "one", { state: "held" });
      await expect.poll(async () => (await other.status("a")).waiting, PATIENCE).toBe(0);
      expect((await other.status("b")).status).toBe("held");
      expect(await tab.call("states", "one")).not.toContain("lost");
      await lock.release();
    });

    test("a component that throws while it renders has let go of what it had, and asks for nothing", async () => {
      const space = `react-${(serial += 1)}`;
      await using other = connect(site.url, { space });
      await using tab = await browser().open<ReactCalls>(`${page}?space=${space}`);
      const before = await acquires();
      await tab.call("show", { parts: [{ ...one, isBroken: true }] });
      await tab.call("show", { parts: [one] });
      await shows(tab, "one", { state: "held" });
      const next = other.acquire("a");
      await expect.poll(async () => (await other.status("a")).waiting, PATIENCE).toBe(1);
      await tab.call("show", { parts: [{ ...one, isBroken: true }] });
      const lock = await next;
      // React renders anew what threw, and gives up: it is there no more.
      expect(await tab.call("text", "one")).toBeUndefined();
      expect((await other.status("a")).waiting).toBe(0);
      await lock.release();
      await tab.call("show", { parts: [one] });
      await shows(tab, "one", { state: "held" });
      expect(await acquires()).toBe(before + 3);
      expect(tab.errors.every((error) => error.includes("broken"))).toBe(true);
    });

    test("a component asks for the mode, the limit and the lease that it names, and with another mode for another lock", async () => {
      await using world = await start();
      const { tab, other } = world;
      const shared = { ...one, mode: "shared", limit: 2, ttl: 600_000 } as const;
      await tab.call("show", { parts: [shared] });
      await shows(tab, "one", { state: "held" });
      const { limit, holders } = await other.status("a");
      expect([limit, holders.length, holders[0]?.mode]).toEqual([2, 1, "shared"]);
      expect(holders[0]?.expiresIn).toBeGreaterThan(300_000);
      await tab.call("show", { parts: [one] });
      await shows(tab, "one", { state: "held", waiting: 0 });
      const after = await other.status("a");
      expect([after.limit, after.holders.map(({ mode }) => mode)]).toEqual([undefined, ["exclusive"]]);
    });

    test("two components have one claim, which goes with the last of them", async () => {
      await using world = await start();
      const { tab, other } = world;
      await tab.call("show", { parts: [one, two] });
      await shows(tab, "one", { state: "held" });
      const { fence } = (await tab.call("seen", "one"))!;
      await shows(tab, "two", { state: "held", fence });
      expect(await other.status("a")).toMatchObject({ holders: [{ fence }], waiting: 0 });
      await tab.call("show", { parts: [two] });
      expect(await tab.call("seen", "two")).toMatchObject({ state: "held", fence });
      await tab.call("show", NOTHING);
      await expect.poll(async () => (await other.status("a")).status, PATIENCE).toBe("free");
    });

    test("without `auto` it is asked for by hand, and a release is one for all", async () => {
      await using world = await start();
      const { tab, other } = world;
      await tab.call("show", {
        parts: [
          { ...one, auto: false },
          { ...two, auto: false },
        ],
      });
      expect(await tab.call("text", "one")).toBe("idle");
      await tab.call("acquire", "one");
      await shows(tab, "two", { state: "held" });
      await tab.call("release", "two");
      await shows(tab, "one", { state: "idle" });
      expect((await other.status("a")).status).toBe("free");
    });

    test("who loses the lock is told at once, by whom and why", async () => {
      await using world = await start();
      const { tab, other } = world;
      await tab.call("show", { parts: [{ ...one, requeue: true }] });
      await shows(tab, "one", { state: "held" });
      const stolen = await other.steal("a", { reason: "my turn" });
      const by = { session: other.session, message: "my turn" };
      await shows(tab, "one", { state: "lost", lossReason: "stolen", by, isAborted: true });
      await tab.call("steal", "one", "no, mine");
      await shows(tab, "one", { state: "held", isAborted: false });
      expect(stolen.signal.reason).toMatchObject({ reason: "stolen", by: { message: "no, mine" } });
    });

    test("a connection that breaks loses the lock, and with `requeue` it queues again", async () => {
      await using world = await start();
      const { tab } = world;
      await tab.call("show", {
        parts: [
          { ...one, requeue: true },
          { name: "other", lockKey: "b", auto: true },
        ],
      });
      await shows(tab, "one", { state: "held" });
      await shows(tab, "other", { state: "held" });
      const { fence } = (await tab.call("seen", "one"))!;
      site.cut();
      await shows(tab, "other", { state: "lost", lossReason: "dropped", isAborted: true });
      await shows(tab, "one", { state: "held", isAborted: false });
      expect((await tab.call("seen", "one"))!.fence).toBeGreaterThan(fence!);
    });

    test("a page shows who holds and who waits, is asked for its lock, and hands it on", async () => {
      await using world = await start();
      const { tab, other } = world;
      await tab.call("show", { parts: [one], looksAt: "a" });
      await shows(tab, "one", { state: "held", asks: [] });
      await expect.poll(() => tab.call("text", "badge"), PATIENCE).toBe("held one 0 connected");
      const waiting = other.acquire("a");
      await other.requestAccess("a", "may I?");
      await shows(tab, "one", { waiting: 1, asks: [{ session: other.session, message: "may I?" }] });
      await expect(tab.call("handTo", "one", "nobody")).rejects.toThrow("waits for the key");
      expect(await tab.call("seen", "one")).toMatchObject({ state: "held" });
      await tab.call("handTo", "one", other.session!);
      const lock = await waiting;
      await shows(tab, "one", { state: "idle", holders: [{ fence: lock.fence, isMe: false }] });
      const heard: unknown[] = [];
      lock.addEventListener("contended", ({ detail }) => heard.push(detail));
      await tab.call("requestAccess", "one", "back, please");
      await shows(tab, "one", { state: "waiting", position: 1, waiting: 1 });
      await expect.poll(() => heard.at(-1), PATIENCE).toMatchObject({ asks: [{ message: "back, please" }] });
      await lock.handTo((await tab.call("session"))!);
      await shows(tab, "one", { state: "held" });
    });

    test("what a server renders is idle and free, opens no connection, and is taken over without a complaint", async () => {
      const view: View = { parts: [{ ...one, lockKey: "rendered" }], looksAt: "rendered" };
      const connecting = { get: () => expect.fail("a client was used while rendering") };
      const markup = renderToString(application(new Proxy({} as Client, connecting), view));
      expect(renderToString(application(null, view))).toBe(markup);
      expect(markup).toContain(">idle<");
      expect(markup).toContain("free nobody 0 connecting");
      const script = `<script type="application/json" id="view">${JSON.stringify(view)}</script>`;
      const address = site.html(
        `/rendered-${kind.name}`,
        `<body><div id="app">${markup}</div>${script}<script src="/react.js"></script></body>`,
      );
      await using tab = await browser().open<ReactCalls>(address);
      await shows(tab, "one", { state: "held" });
      await expect.poll(() => tab.call("text", "badge"), PATIENCE).toBe("held one 0 connected");
      expect((await tab.call("states", "one"))[0]).toBe("idle");
      expect([tab.errors, await tab.call("complaints")]).toEqual([[], []]);
    });
  });
}

/** How many were answered, one way or another. */
async function acquires(): Promise<number> {
  const metrics = await (await fetch(`${site.url}/metrics`)).text();
  const counts = [...metrics.matchAll(/^latchkey_acquires_total\{.*\} (\d+)$/gm)];
  return counts.reduce((sum, [, count]) => sum + Number(count), 0);
}

const PATIENCE = { timeout: 10_000, interval: 20 };

inBrowser(chromium, (browser) => {
  test("the example in the README waits, asks, and is handed the lock", async () => {
    const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
    const code = /<!-- run: react -->\n```tsx\n([\s\S]*?)\n```/.exec(readme)![1]!;
    // Beside the packages that it imports.
    const folder = mkdtempSync(fileURLToPath(new URL("../../node_modules/.readme-", import.meta.url)));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const built = (path: string): string => fileURLToPath(new URL(`../../dist/src/${path}/index.js`, import.meta.url));
    const file = join(folder, "readme.tsx");
    const ours = code
      .replaceAll("http://127.0.0.1:8787", site.url)
      .replace("latchkey/client", built("client"))
      .replace("latchkey/react", built("react"));
    writeFileSync(file, ours);
    await using other = connect(site.url, { meta: { name: "Bob" } });
    const lock = await other.acquire("doc:42");
    await using tab = await browser().open(await site.page(file, { body: '<div id="app"></div>' }));
    const text = (): Promise<string> => tab.evaluate("document.querySelector('#app').textContent");
    await expect.poll(text, PATIENCE).toBe("waiting, Bob has it, you are number 1AskTake over");
    const asked = new Promise<Contended>((resolve) => {
      lock.addEventListener("contended", ({ detail }) => detail.asks.length > 0 && resolve(detail));
    });
    await tab.evaluate("document.querySelector('button').click()");
    const [ask] = (await asked).asks;
    expect(ask).toMatchObject({ user: "ada", message: "may I?" });
    await lock.handTo(ask!.session!);
    const fence = (): Promise<string | undefined> => tab.evaluate("document.querySelector('textarea')?.dataset.fence");
    await expect.poll(async () => Number(await fence()), PATIENCE).toBeGreaterThan(lock.fence);
    expect(tab.errors).toEqual([]);
  });
});

test("hooks without a provider say so", () => {
  const view = application(null, { parts: [one] });
  const { children } = view.props as { children: { props: { children: readonly [unknown[]] } } };
  expect(() => renderToString(children.props.children[0] as never)).toThrow("LatchkeyProvider");
  expect(readFileSync(new URL("../../src/react/index.ts", import.meta.url), "utf8")).toContain('"use client"');
});
