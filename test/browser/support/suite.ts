/** Tests that need a browser: one process for all tests of a file. Where it is missing one line says so, and they are skipped. */

import { afterAll, beforeAll, describe } from "vitest";
import { Calm, type Probe } from "../../conformance/calm.ts";
import { Browser, isInstalled, type Kind } from "./browser.ts";

const START_MS = 90_000;

type Tests = (browser: () => Browser) => void;

/** `tests` gets what gives the browser, once the tests run. */
export function inBrowser(kind: Kind, tests: Tests): void {
  describe.skipIf(isMissing(kind))(`in ${kind.name}`, () => {
    let browser: Browser | undefined;
    beforeAll(async () => {
      browser = await Browser.launch(kind);
    }, START_MS);
    afterAll(async () => {
      await browser?.[Symbol.asyncDispose]();
    });
    tests(() => {
      if (browser === undefined) throw new Error("the browser is not there before the tests run");
      return browser;
    });
  });
}

/** For tests of times, which say nothing while the browser stands still. */
export function inBrowserCalmly(kind: Kind, tests: Tests): void {
  const calm = new Calm(4);
  inBrowser(kind, (browser) => {
    describe("undisturbed", calm.options, () => {
      calm.watch(() => [goesOn(browser)]);
      tests(browser);
    });
  });
}

export function goesOn(browser: () => Browser): Probe {
  return () => browser().driven.version();
}

function isMissing(kind: Kind): boolean {
  if (isInstalled(kind)) return false;
  console.log(`skipped: there is no ${kind.path} here (Debian's package ${kind.name})`);
  return true;
}
