/** Tests that need a browser: one process for all tests of a file. Where it is missing one line says so, and they are skipped. */

import { afterAll, beforeAll, describe } from "vitest";
import { Browser, isInstalled, type Kind } from "./browser.ts";

const START_MS = 90_000;

/** `tests` gets what gives the browser, once the tests run. */
export function inBrowser(kind: Kind, tests: (browser: () => Browser) => void): void {
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

function isMissing(kind: Kind): boolean {
  if (isInstalled(kind)) return false;
  console.log(`skipped: there is no ${kind.path} here (Debian's package ${kind.name})`);
  return true;
}
