import { afterAll, beforeAll, expect, test } from "vitest";
import { chromium, firefox } from "./support/browser.ts";
import type { HoldCalls } from "./support/hold-calls.ts";
import { Site } from "./support/site.ts";
import { inBrowser } from "./support/suite.ts";

let site: Site;
let page: string;

beforeAll(async () => {
  site = await Site.start();
  page = await site.page("hold.ts");
});

afterAll(async () => {
  await site[Symbol.asyncDispose]();
});

for (const kind of [chromium, firefox]) {
  inBrowser(kind, (browser) => {
    test("a page holds what it was granted", async () => {
      await using tab = await browser().open<HoldCalls>(page);
      expect(await tab.call("acquire", "doc")).toBeGreaterThan(0);
      expect(await tab.call("isHeld", "doc")).toBe(true);
      expect(tab.errors).toEqual([]);
    });
  });
}
