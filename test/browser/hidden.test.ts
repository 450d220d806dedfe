// A tab that nobody looks at. Chromium lets its timers run once a second, and after five minutes once a minute. Here the first
// stands for the second: the heartbeat is 60 times as fast as the default one, so 10 s are what 10 minutes are elsewhere, and a
// timer comes once in what would be a minute. Nothing about the browser is simulated.

import { afterAll, beforeAll, expect, test } from "vitest";
import { setTimeout as pause } from "node:timers/promises";
import { chromium } from "./support/browser.ts";
import type { LifeCalls } from "./support/life-calls.ts";
import { Observer } from "./support/observer.ts";
import { Site } from "./support/site.ts";
import { inBrowserCalmly } from "./support/suite.ts";

const TIMES = 60;
const PING_MS = Math.ceil(5_000 / TIMES);
/** What would be 15 s is too little for a busy machine; it is still less than from one timer to the next. */
const DEADLINE_MS = 800;
const TEN_MINUTES_MS = 600_000 / TIMES;

let site: Site;

beforeAll(async () => {
  site = await Site.start({ heartbeatMs: PING_MS, deadlineMs: DEADLINE_MS });
});

afterAll(async () => {
  await site[Symbol.asyncDispose]();
});

inBrowserCalmly(chromium, (browser) => {
  test("a hidden tab keeps its lock for ten minutes, though its timers come once a minute", async () => {
    const observer = new Observer(site.latchkey);
    await using tab = await browser().open<LifeCalls>(await site.page("life.ts"));
    await tab.call("acquire", "doc");
    const session = await tab.call("session");
    const devtools = await tab.devtools();
    let pongs = 0;
    devtools.on("Network.webSocketFrameSent", ({ response }) => {
      if (response.payloadData === "pong") pongs += 1;
    });
    await devtools.send("Network.enable");
    await using other = await browser().open(site.html("/other", "<body>other</body>"));
    await other.page.bringToFront();
    expect(await tab.evaluate("document.visibilityState")).toBe("hidden");

    const ticksBefore = await tab.call("ticks");
    await pause(TEN_MINUTES_MS);
    const ticks = (await tab.call("ticks")) - ticksBefore;
    console.log(`chromium: hidden: ${ticks} runs of a timer of 100 ms in ${TEN_MINUTES_MS / 1_000} s, ${pongs} pongs`);
    expect(ticks).toBeLessThanOrEqual(TEN_MINUTES_MS / 1_000 + 2);
    expect(pongs).toBeGreaterThan(0.7 * (TEN_MINUTES_MS / PING_MS));

    expect(await tab.call("isHeld", "doc")).toBe(true);
    expect(await observer.holders("doc")).toEqual([session]);
    expect((await tab.call("heard")).map(({ type }) => type)).not.toContain("reconnecting");
    // Shown again it asks whether all is well, and all is.
    await tab.page.bringToFront();
    expect(await tab.evaluate("document.visibilityState")).toBe("visible");
    await pause(2 * DEADLINE_MS);
    expect(await tab.call("isHeld", "doc")).toBe(true);
    expect(await tab.call("session")).toBe(session);
  });
});
