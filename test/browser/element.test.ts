import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chromium, firefox } from "./support/browser.ts";
import type { GateCalls, Told } from "./support/gate-calls.ts";
import { Site } from "./support/site.ts";
import { inBrowser } from "./support/suite.ts";
import type { Tab } from "./support/tab.ts";

let site: Site;
let page: string;
let count = 0;

beforeAll(async () => {
  site = await Site.start();
  page = await site.page("gate.ts");
});

afterAll(async () => {
  await site[Symbol.asyncDispose]();
});

/** A gate with something to use in each slot. */
const markup = (key: string, attributes = "auto", id = "gate"): string =>
  `<latch-gate id="${id}" key="${key}" ${attributes}><button id="always">always</button>
    <button slot="held">write</button><button slot="waiting">patience</button><button slot="free">open</button>
  </latch-gate>`;

const shown = (tab: Tab<GateCalls>): Promise<boolean[]> =>
  Promise.all(["held", "waiting", "free"].map((name) => tab.call("isShown", `#gate [slot=${name}]`)));

/** The block of README behind `run: element`, with the sources in place of the package and this site in place of the server. */
async function readmePage(): Promise<string> {
  const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
  const [, body, script] =
    /<!-- run: element -->\n```html\n([\s\S]*?)<script type="module">\n([\s\S]*?)<\/script>/.exec(readme) ?? [];
  if (body === undefined || script === undefined) throw new Error("README has no block element");
  const source = (entry: string): string => fileURLToPath(new URL(`../../src/${entry}/index.ts`, import.meta.url));
  const code = script
    .replaceAll(/"latchkey\/(client|element)"/g, (_, entry: string) => JSON.stringify(source(entry)))
    .replace(`"https://locks.example.com"`, "location.origin");
  const folder = mkdtempSync(join(tmpdir(), "latchkey-readme-"));
  try {
    const file = join(folder, "readme-element.ts");
    writeFileSync(file, code);
    return await site.page(file, { body });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** How many there are on the server. */
async function watches(): Promise<number> {
  const metrics = await (await fetch(`${site.url}/metrics`)).text();
  return Number(/^latchkey_watches (\d+)$/m.exec(metrics)?.[1]);
}

const eventsOf = (events: readonly Told[], type: string): Told["detail"][] =>
  events.filter((event) => event.type === type).map(({ detail }) => detail);

for (const kind of [chromium, firefox]) {
  inBrowser(kind, (browser) => {
    /** A key that no other test uses, and a page. */
    async function open(attributes?: string): Promise<{ tab: Tab<GateCalls>; key: string }> {
      const key = `key-${++count}`;
      const tab = await browser().open<GateCalls>(page);
      await tab.call("define");
      await tab.call("put", markup(key, attributes));
      return { tab, key };
    }

    test("what a gate guards can be used while its lock is held, and only then", async () => {
      const { tab, key } = await open("");
      await using _ = tab;
      expect(await tab.call("state", "gate")).toBe("idle");
      expect(await tab.call("isUsable", "#gate [slot=held]")).toBe(false);
      expect(await shown(tab)).toEqual([true, false, true]);

      await tab.call("acquire", "gate");
      await tab.call("reached", "gate", "held");
      expect(await tab.call("isUsable", "#gate [slot=held]")).toBe(true);
      expect(await shown(tab)).toEqual([true, false, false]);
      const [acquired] = eventsOf(await tab.call("events"), "lockacquired");
      expect(acquired).toEqual({ key, fence: await tab.call("fence", "gate") });

      await tab.call("release", "gate");
      expect(await tab.call("isUsable", "#gate [slot=held]")).toBe(false);
      expect(await tab.call("isUsable", "#always")).toBe(true);
      expect((await site.latchkey.locks.status(key)).status).toBe("free");
      expect(eventsOf(await tab.call("events"), "locklost")).toEqual([]);

      await tab.call("set", "gate", "hidden", "");
      expect(await tab.call("isShown", "#always")).toBe(false);
    });

    test("a gate waits in line, says where it stands, and opens when its turn comes", async () => {
      const key = `key-${++count}`;
      const first = await site.latchkey.locks.acquire(key);
      await using tab = await browser().open<GateCalls>(page);
      await tab.call("define");
      await tab.call("put", markup(key));
      await tab.call("reached", "gate", "waiting");
      expect(await shown(tab)).toEqual([true, true, false]);
      expect(await tab.call("isUsable", "#gate [slot=held]")).toBe(false);
      await first.release();
      await tab.call("reached", "gate", "held");
      const places = eventsOf(await tab.call("events"), "lockqueue").map(({ position }) => position);
      expect(places).toContain(1);
    });

    test("a loss is told with who and why, when what it guards is inert already", async () => {
      const { tab, key } = await open();
      await using _ = tab;
      await tab.call("reached", "gate", "held");
      await using thief = await site.latchkey.locks.acquire(key, { steal: true, message: "it burns" });
      await tab.call("reached", "gate", "lost");
      const events = await tab.call("events");
      const lost = events.find(({ type }) => type === "locklost");
      expect(lost).toMatchObject({ isUsable: false, detail: { key, reason: "stolen", by: { message: "it burns" } } });
      expect(await shown(tab)).toEqual([true, false, true]);
      expect(thief.fence).toBeGreaterThan(0);
    });

    test("a gate that takes the lock over opens", async () => {
      const { tab, key } = await open("");
      await using _ = tab;
      const loser = await site.latchkey.locks.acquire(key);
      await tab.call("steal", "gate", "mine now");
      await tab.call("reached", "gate", "held");
      expect((await loser.lost).by).toMatchObject({ message: "mine now" });
    });

    test("a gate that is moved keeps its lock, one that is removed gives it away", async () => {
      const { tab, key } = await open();
      await using _ = tab;
      await tab.call("reached", "gate", "held");
      const fence = await tab.call("fence", "gate");
      await tab.call("move", "gate");
      expect(await tab.call("fence", "gate")).toBe(fence);
      expect(await tab.call("isUsable", "#gate [slot=held]")).toBe(true);
      // It has not got the lock a second time.
      expect(eventsOf(await tab.call("events"), "lockacquired")).toHaveLength(1);
      const next = site.latchkey.locks.acquire(key);
      await tab.call("remove", "gate");
      await using lock = await next;
      expect(lock.fence).toBeGreaterThan(fence ?? 0);
      await expect.poll(() => watches(), { timeout: 20_000 }).toBe(0);
    });

    test("a gate that becomes `auto` later gets in line then", async () => {
      const { tab } = await open("");
      await using _ = tab;
      expect(await tab.call("state", "gate")).toBe("idle");
      await tab.call("set", "gate", "auto", "");
      await tab.call("reached", "gate", "held");
    });

    test("a gate asks for the lease and shows the text that its attributes name, and with `requeue` has the lock again after a break", async () => {
      const { tab, key } = await open(`auto requeue ttl="600000" meta="Ada, at the desk"`);
      await using _ = tab;
      await tab.call("reached", "gate", "held");
      const [holder] = (await site.latchkey.locks.status(key)).holders;
      expect(holder).toMatchObject({ meta: "Ada, at the desk", expiresIn: expect.any(Number) });
      expect(holder?.expiresIn).toBeGreaterThan(300_000);
      site.cut();
      const acquired = async (): Promise<number> => eventsOf(await tab.call("events"), "lockacquired").length;
      await expect.poll(acquired, { timeout: 20_000 }).toBe(2);
      const events = await tab.call("events");
      expect(eventsOf(events, "locklost")).toMatchObject([{ key, reason: "dropped" }]);
      expect(events.find(({ type }) => type === "locklost")?.isUsable).toBe(false);
      expect(await tab.call("isUsable", "#gate [slot=held]")).toBe(true);
    });

    test("a gate without a connection asks for patience", async () => {
      // No browser connects to this port.
      await using tab = await browser().open<GateCalls>(`${page}?server=${encodeURIComponent("http://localhost:9")}`);
      await tab.call("define");
      await tab.call("put", markup(`key-${++count}`));
      expect(await tab.call("state", "gate")).toBe("connecting");
      expect(await shown(tab)).toEqual([true, true, false]);
      expect(await tab.call("isUsable", "#gate [slot=held]")).toBe(false);
    });

    test("a gate with another key is another claim", async () => {
      const { tab, key } = await open();
      await using _ = tab;
      await tab.call("reached", "gate", "held");
      const next = site.latchkey.locks.acquire(key);
      await tab.call("set", "gate", "key", `${key}-b`);
      await (await next).release();
      await tab.call("reached", "gate", "held");
      expect((await site.latchkey.locks.status(`${key}-b`)).holders).toHaveLength(1);
      // What becomes of the old key is nothing to it any more.
      await tab.call("put", markup(key, "", "witness"));
      await using _lock = await site.latchkey.locks.acquire(key);
      const seen = async (): Promise<number> =>
        (await tab.call("events")).filter(({ id, detail }) => id === "witness" && detail.holders?.length === 1).length;
      await expect.poll(seen, { timeout: 20_000 }).toBe(1);
      expect(await tab.call("state", "gate")).toBe("held");
      expect(await tab.call("isUsable", "#gate [slot=held]")).toBe(true);
    });

    test("gates of one page share a claim, and the last one lets go", async () => {
      const { tab, key } = await open();
      await using _ = tab;
      await tab.call("put", markup(key, "auto", "other"));
      await tab.call("reached", "gate", "held");
      await tab.call("reached", "other", "held");
      expect(await tab.call("fence", "other")).toBe(await tab.call("fence", "gate"));
      await tab.call("remove", "gate");
      expect((await site.latchkey.locks.status(key)).waiting).toBe(0);
      expect(await tab.call("state", "other")).toBe("held");
      const next = site.latchkey.locks.acquire(key);
      await tab.call("remove", "other");
      await (await next).release();
    });

    test("gates that were there before the script are filled with life by it, with what they hold in JSON", async () => {
      const key = `key-${++count}`;
      await using tab = await browser().open<GateCalls>(page);
      await tab.call("put", markup(key, `auto mode="shared" limit="2" meta='{"name":"Ada"}'`));
      await tab.call("define");
      await tab.call("reached", "gate", "held");
      const { holders, limit } = await site.latchkey.locks.status(key);
      expect([holders.map(({ mode, meta }) => [mode, meta]), limit]).toEqual([[["shared", { name: "Ada" }]], 2]);
      expect(eventsOf(await tab.call("events"), "lockacquired")).toHaveLength(1);
    });

    test("the page in README works as it stands", async () => {
      await using tab = await browser().open(await readmePage());
      const isUsable = `document.querySelector("textarea").focus(); document.activeElement.localName === "textarea"`;
      expect(await tab.evaluate(isUsable)).toBe(false);
      await tab.evaluate(`document.querySelector("button[slot=free]").click()`);
      await expect.poll(() => tab.evaluate(isUsable), { timeout: 20_000 }).toBe(true);
      await using _ = await site.latchkey.locks.acquire("doc:42", { steal: true });
      const state = `document.querySelector("latch-gate").getAttribute("state")`;
      await expect.poll(() => tab.evaluate(state), { timeout: 20_000 }).toBe("lost");
      // What becomes inert loses the focus when the page is drawn next.
      await expect.poll(() => tab.evaluate(isUsable), { timeout: 20_000 }).toBe(false);
      expect(tab.errors).toEqual([]);
    });

    test("a gate without a key says so", async () => {
      await using tab = await browser().open<GateCalls>(page);
      await tab.call("define");
      await tab.call("put", `<latch-gate id="gate"><button slot="held">write</button></latch-gate>`);
      expect(await tab.call("acquire", "gate")).toBe("InvalidStateError");
      expect(await tab.call("state", "gate")).toBe("idle");
      expect(tab.errors).toEqual([]);
    });
  });
}
