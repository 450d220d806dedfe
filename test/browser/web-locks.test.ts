// The Web Locks suite in real pages: against `client.locks`, and against the browsers' own locks. Where a browser is known to
// deviate from the standard that is listed, and the list is exact.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bun, deno, node, workers } from "../conformance/runtimes.ts";
import { type Server, startServer } from "../conformance/server.ts";
import { CASES } from "../web-locks/suite.ts";
import { chromium, firefox, type Kind } from "./support/browser.ts";
import type { LocksCalls } from "./support/locks-calls.ts";
import { Site } from "./support/site.ts";
import { inBrowser } from "./support/suite.ts";
import type { Tab } from "./support/tab.ts";

interface Deviation {
  /** What is wrong then. */
  readonly wrong: RegExp;
  /** It depends on which of two messages is faster, so that it is not always seen. */
  readonly isRace?: boolean;
}

/** The cases that a browser's own locks fail. Of names it keeps no lone surrogates, and an abort does not look at the queue again. */
const CHROMIUM: Readonly<Record<string, Deviation>> = {
  "names: a lone surrogate is neither a replacement character nor another one": { wrong: /is in the snapshot/ },
  "names: surrogates in the wrong order are no pair": { wrong: /is in the snapshot/ },
  "signal: shared ones behind an exclusive one that gave up are granted at once": { wrong: /they hold/ },
  "available: a lock that was let go is available to another client once its request has settled": {
    wrong: /whether there is a lock is true; it is false/,
    isRace: true,
  },
  "signal: an abort in the turn of the request wins, though the name is free": {
    wrong: /it rejects; it resolves/,
    isRace: true,
  },
  "signal: and it leaves no lock behind": { wrong: /it rejects; it resolves/, isRace: true },
  "signal: the next request has the lock after an abort in the same turn": {
    wrong: /it rejects; it resolves/,
    isRace: true,
  },
};

/** Exact: a case that is listed must fail, and no other may. */
const DEVIATIONS: Readonly<Record<Kind["name"], Readonly<Record<string, Deviation>>>> = {
  chromium: CHROMIUM,
  "firefox-esr": {},
};

/** What the browsers' own locks do not have. */
const OURS: ReadonlySet<string> = new Set(["end", "lock"]);

/** A busy machine takes its time to load a page. */
const START_MS = 90_000;

let site: Site;

beforeAll(async () => {
  site = await Site.start();
});

afterAll(async () => {
  await site[Symbol.asyncDispose]();
});

for (const kind of [chromium, firefox]) {
  inBrowser(kind, (browser) => {
    describe.each([node, bun, deno, workers])("client.locks over a server on $name", (runtime) => {
      let server: Server;
      let tab: Tab<LocksCalls>;
      beforeAll(async () => {
        server = await startServer(runtime, { env: { LATCHKEY_ORIGINS: site.url } });
        const page = await site.page("web-locks.ts");
        tab = await browser().open<LocksCalls>(`${page}?server=${encodeURIComponent(server.url)}`);
      }, START_MS);
      afterAll(async () => {
        await tab[Symbol.asyncDispose]();
        await server[Symbol.asyncDispose]();
      });

      test.each(CASES.map(({ name }) => name))("%s", async (name) => {
        expect(await tab.call("run", name, false)).toBe("");
      });
    });

    describe("navigator.locks", () => {
      const common = CASES.filter(({ needs = [] }) => !needs.some((need) => OURS.has(need)));
      // All at once: a case that the browser fails may take its time until it is given up.
      let results: Promise<ReadonlyMap<string, string>>;
      beforeAll(async () => {
        const tab = await browser().open<LocksCalls>(await site.page("web-locks.ts"));
        const each = common.map(async ({ name }) => [name, await tab.call("run", name, true)] as const);
        results = Promise.all(each).then((all) => new Map(all));
      }, START_MS);
      test("the list of deviations names cases", () => {
        expect(common.map(({ name }) => name)).toEqual(expect.arrayContaining(Object.keys(DEVIATIONS[kind.name])));
      });

      test.each(common.map(({ name }) => name))("%s", async (name) => {
        const wrong = (await results).get(name);
        const deviation = DEVIATIONS[kind.name][name];
        if (deviation === undefined) expect(wrong).toBe("");
        else if (wrong !== "" || deviation.isRace !== true) expect(wrong).toMatch(deviation.wrong);
      });
    });
  });
}
