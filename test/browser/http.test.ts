// What a browser's `fetch` does by itself to a call that waits.

import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { chromium, firefox } from "./support/browser.ts";
import type { HttpCalls } from "./support/http-calls.ts";
import { Observer } from "./support/observer.ts";
import { Site } from "./support/site.ts";
import { inBrowserCalmly } from "./support/suite.ts";

const SHORT_MS = 1_000;
const LONG_MS = 20_000;

let site: Site;
let page: string;
let observer: Observer;

beforeAll(async () => {
  site = await Site.start();
  page = await site.page("http.ts");
  observer = new Observer(site.latchkey);
});

afterAll(async () => {
  await site[Symbol.asyncDispose]();
});

/** How many acquires have ended in that way so far. */
async function ended(result: string): Promise<number> {
  const metrics = await (await fetch(`${site.url}/metrics`)).text();
  return Number(new RegExp(`latchkey_acquires_total\\{result="${result}"\\} (\\d+)`).exec(metrics)?.[1] ?? 0);
}

for (const kind of [chromium, firefox]) {
  inBrowserCalmly(kind, (browser) => {
    test("two calls whose time is over are one claim each, however often the browser sends them", async () => {
      await using tab = await browser().open<HttpCalls>(page);
      const key = `${kind.name} over`;
      await using holder = await site.latchkey.locks.acquire(key);
      await tab.call("warmUp", 4);
      const [timeoutsBefore, requestsBefore] = [await ended("timed_out"), site.requests.length];
      const answers = await Promise.all(
        ["a", "b"].map((id) => tab.call("acquire", key, `${kind.name}-${id}`, SHORT_MS)),
      );
      const posts = site.requests.slice(requestsBefore).filter((request) => request.startsWith("POST"));
      console.log(`${kind.name}: 2 calls that ended with 408 were sent ${posts.length} times`);
      for (const { status, body, tookMs } of answers) {
        expect(status).toBe(408);
        expect(body).toMatchObject({ code: "timeout" });
        // The time does not begin again.
        expect(tookMs).toBeLessThan(2 * SHORT_MS);
      }
      expect(await ended("timed_out")).toBe(timeoutsBefore + 2);
      expect(await observer.waiting(key)).toBe(0);
      expect(holder.signal.aborted).toBe(false);
    });

    test("a call keeps its place while another one of the page is sent again", async () => {
      await using tab = await browser().open<HttpCalls>(page);
      const key = `${kind.name} place`;
      const holder = await site.latchkey.locks.acquire(key);
      await tab.call("warmUp", 4);
      const short = tab.call("acquire", key, `${kind.name}-short`, SHORT_MS);
      const long = tab.call("acquire", key, `${kind.name}-long`, LONG_MS);
      await vi.waitFor(async () => expect(await observer.waiting(key)).toBe(2), { timeout: 5_000 });
      const { free } = await observer.queueFor(key);
      const seen: number[] = [];
      const answered = short.then(() => true);
      do {
        seen.push(await observer.waiting(key));
      } while (!(await Promise.race([answered, pause(2, false)])));
      expect((await short).status).toBe(408);
      // Whatever is sent again joins the claim that was, and makes none that waits.
      expect(new Set(seen)).toEqual(new Set([3, 2]));
      expect(seen.lastIndexOf(3)).toBeLessThan(seen.indexOf(2));
      await holder.release();
      const { status, body } = await long;
      expect(status).toBe(200);
      // The one behind is still behind.
      expect(await observer.waiting(key)).toBe(1);
      const { token } = body as { readonly token: string };
      await site.latchkey.locks.release(key, token);
      await free;
    });
  });
}
