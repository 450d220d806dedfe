/** A real browser, started for tests and driven from outside: Chromium over the DevTools protocol, Firefox over WebDriver BiDi. */

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser as Driven, connect } from "puppeteer-core";
import { Tab } from "./tab.ts";

/** A browser as Debian installs it: the package has the name of the program. */
export interface Kind {
  readonly name: "chromium" | "firefox-esr";
  readonly path: string;
  readonly protocol: "cdp" | "webDriverBiDi";
  /** What it prints, with its address in it, once it can be driven. */
  readonly ready: RegExp;
  args(profile: string): readonly string[];
}

export const chromium: Kind = {
  name: "chromium",
  path: "/usr/bin/chromium",
  protocol: "cdp",
  ready: /DevTools listening on (ws:\S+)/,
  args: (profile) => [
    "--headless=new",
    `--user-data-dir=${profile}`,
    "--remote-debugging-port=0",
    // Root has no sandbox, and a proxy would be asked for pages of this machine.
    "--no-sandbox",
    "--no-proxy-server",
    "--no-first-run",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--password-store=basic",
    "about:blank",
  ],
};

export const firefox: Kind = {
  name: "firefox-esr",
  path: "/usr/bin/firefox-esr",
  protocol: "webDriverBiDi",
  ready: /WebDriver BiDi listening on (ws:\S+)/,
  args: (profile) => {
    const lines = Object.entries(FIREFOX_SETTINGS).map(
      ([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`,
    );
    writeFileSync(join(profile, "user.js"), lines.join("\n"));
    return ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0", "about:blank"];
  },
};

/** What Firefox would do besides: look for updates, ask its maker, greet its user. Automation turns off most of it already. */
const FIREFOX_SETTINGS: Readonly<Record<string, boolean | number | string>> = {
  "network.proxy.type": 0,
  "browser.startup.page": 0,
  "browser.shell.checkDefaultBrowser": false,
  "datareporting.policy.dataSubmissionEnabled": false,
  "network.captive-portal-service.enabled": false,
  "network.connectivity-service.enabled": false,
  "services.settings.server": "data:,",
};

/** The helpers of a browser that was killed notice a little later, and still write. */
const REMOVAL = { recursive: true, force: true, maxRetries: 20, retryDelay: 50 } as const;
/** A busy machine takes its time. */
const PATIENCE_MS = 60_000;
/** A page that does not answer for so long does not answer. */
const ANSWER_MS = 60_000;

export function isInstalled({ path }: Kind): boolean {
  return existsSync(path);
}

export class Browser implements AsyncDisposable {
  readonly kind: Kind;
  readonly driven: Driven;
  readonly #process: ChildProcess;
  readonly #profile: string;

  private constructor(kind: Kind, driven: Driven, process: ChildProcess, profile: string) {
    this.kind = kind;
    this.driven = driven;
    this.#process = process;
    this.#profile = profile;
  }

  /** Starts one with a profile of its own. It ends with this process in any case. */
  static async launch(kind: Kind): Promise<Browser> {
    const profile = mkdtempSync(join(tmpdir(), `latchkey-${kind.name}-`));
    const { PATH = "" } = process.env;
    // At home in its profile: nothing of the machine's own browser is used, and nothing is left behind.
    const env = { PATH, HOME: profile, MOZ_CRASHREPORTER_DISABLE: "1" };
    const child = spawn(kind.path, kind.args(profile), { env, stdio: ["ignore", "ignore", "pipe"] });
    const kill = (): void => {
      child.kill("SIGKILL");
      rmSync(profile, REMOVAL);
    };
    process.once("exit", kill);
    child.once("exit", () => process.off("exit", kill));
    try {
      const address = await printed(child, kind.ready);
      const driven = await connect({
        browserWSEndpoint: kind.protocol === "cdp" ? address : `${address}/session`,
        protocol: kind.protocol,
        defaultViewport: null,
        protocolTimeout: ANSWER_MS,
      });
      return new Browser(kind, driven, child, profile);
    } catch (error) {
      await end(child, profile);
      throw error;
    }
  }

  /** A tab of its own, with the page loaded. */
  async open<Offered = unknown>(url: string): Promise<Tab<Offered>> {
    const tab = new Tab<Offered>(await this.driven.newPage());
    tab.page.setDefaultTimeout(ANSWER_MS);
    await tab.page.goto(url);
    return tab;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.driven.disconnect().catch(() => undefined);
    await end(this.#process, this.#profile);
  }
}

/** Kills it: what it would do at a friendly end takes longer and nobody needs it. */
async function end(child: ChildProcess, profile: string): Promise<void> {
  const ended = new Promise((resolve) => child.once("close", resolve));
  if (child.exitCode === null && child.signalCode === null) {
    child.kill("SIGKILL");
    await ended;
  }
  rmSync(profile, REMOVAL);
}

/** The first thing that `pattern` marks in what it prints. */
function printed(child: ChildProcess, pattern: RegExp): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let output = "";
  const fail = (why: string): void => reject(new Error(`the browser ${why}:\n${output}`));
  const timer = setTimeout(() => fail(`was not ready after ${PATIENCE_MS / 1000} s`), PATIENCE_MS);
  child.once("error", reject);
  child.once("exit", (code) => fail(`ended with ${code}`));
  child.stderr?.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    const found = pattern.exec(output)?.[1];
    if (found !== undefined) resolve(found);
  });
  return promise.finally(() => clearTimeout(timer));
}
