import { expect, test } from "vitest";
import { Calm } from "../conformance/calm.ts";
import { node } from "../conformance/runtimes.ts";
import { type Server, startServer } from "../conformance/server.ts";
import { chromium, firefox } from "./support/browser.ts";
import { goesOn, inBrowser } from "./support/suite.ts";
import type { Tab } from "./support/tab.ts";

const ENV = { LOCK_ADAPTER: "memory" };
/** A frozen page is given up soon, so that the test of it is short. */
const SOON = { LATCHKEY_HEARTBEAT: "300ms", LATCHKEY_DEADLINE: "1500ms" };
const PATIENCE = { timeout: 20_000, interval: 50 };

type Who = "ada" | "grace";

/** The demo in a browser, and what a person does with it. */
class Demo implements AsyncDisposable {
  readonly tab: Tab;
  readonly #server: Server;

  constructor(server: Server, tab: Tab) {
    this.#server = server;
    this.tab = tab;
  }

  /** Waits until a person's window shows a text. */
  async sees(who: Who, selector: string, text: string): Promise<void> {
    await expect.poll(() => this.#texts(who, selector), PATIENCE).toContain(text);
  }

  async isConnected(): Promise<void> {
    for (const who of ["ada", "grace"] as const) await this.sees(who, ".light", "Connected");
  }

  reads(who: Who, field: string): Promise<string> {
    return this.tab.evaluate(`document.getElementById("${who}-${field}").value`);
  }

  async enters(who: Who, field: string): Promise<void> {
    await this.tab.evaluate(`document.getElementById("${who}-${field}").focus()`);
  }

  /** Into the field that it is in, in place of what is there. */
  async types(who: Who, field: string, text: string): Promise<void> {
    await this.enters(who, field);
    await this.sees(who, `[data-name=${field}] .chip`, "You are editing");
    await this.tab.evaluate(`document.getElementById("${who}-${field}").select()`);
    await this.tab.page.keyboard.type(text);
  }

  async clicks(who: Who, button: string): Promise<void> {
    const find = `[...document.querySelectorAll(".pane[data-tone=${who}] button")].find((b) => b.textContent === "${button}")`;
    await expect.poll(() => this.tab.evaluate(`${find} !== undefined`), PATIENCE).toBe(true);
    await this.tab.evaluate(`${find}.click()`);
  }

  journal(): Promise<string> {
    return this.tab.evaluate(`document.querySelector(".journal").innerText`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tab[Symbol.asyncDispose]();
    await this.#server[Symbol.asyncDispose]();
  }

  #texts(who: Who, selector: string): Promise<string> {
    return this.tab.evaluate(
      `[...document.querySelectorAll(".pane[data-tone=${who}] ${selector}")].map((e) => e.textContent).join("\\n")`,
    );
  }
}

for (const kind of [chromium, firefox]) {
  inBrowser(kind, (browser) => {
    async function open(env: Readonly<Record<string, string>> = {}): Promise<Demo> {
      const server = await startServer(node, { env: { ...ENV, ...env } });
      const demo = new Demo(server, await browser().open(`${server.url}/demo`));
      await demo.tab.page.setViewport({ width: 1280, height: 900 });
      if (env["LATCHKEY_KEYS"] === undefined) await demo.isConnected();
      return demo;
    }

    test("in the demo one writes, the other waits and asks, and is handed the field", async () => {
      await using demo = await open();
      await demo.types("ada", "title", "Picnic");
      await demo.sees("grace", "[data-name=title] .chip", "Ada is editing");
      await expect.poll(() => demo.reads("grace", "title"), PATIENCE).toBe("Picnic");

      await demo.enters("grace", "title");
      await demo.sees("grace", "[data-name=title] .line", "You are next in line");
      await demo.clicks("grace", "Ask");
      await demo.clicks("grace", "Send");
      await demo.sees("ada", "[data-name=title] .ask", "Grace asks: “May I have this for a minute?”");
      await demo.clicks("ada", "Hand over");
      await demo.types("grace", "title", "Picnic by the lake");
      await expect.poll(() => demo.reads("ada", "title"), PATIENCE).toBe("Picnic by the lake");
      expect(await demo.journal()).toContain("Ada hands Title to Grace");
      expect(demo.tab.errors).toEqual([]);
    });

    test("in the demo whoever loses the field is told who took it and why, and keeps the text", async () => {
      await using demo = await open();
      await demo.types("ada", "text", "Bring a chair.");
      await demo.enters("grace", "text");
      await demo.clicks("grace", "Take over");
      await demo.clicks("grace", "Cancel");
      await demo.sees("ada", "[data-name=text] .chip", "You are editing");
      await demo.clicks("grace", "Take over");
      await demo.tab.page.keyboard.type("The printer waits");
      await demo.tab.page.keyboard.press("Enter");
      await demo.sees("ada", "[data-name=text] .notice", "Grace took over “The printer waits”");
      await demo.types("grace", "text", "Bring two.");
      await demo.sees("ada", "[data-name=text] .kept", "Bring a chair.");
      await expect.poll(() => demo.reads("ada", "text"), PATIENCE).toBe("Bring two.");
    });

    test("in the demo a choice takes the lock when something is chosen", async () => {
      await using demo = await open();
      await demo.tab.evaluate(`document.querySelector("#ada-status input[value=Final]").click()`);
      await demo.sees("grace", "[data-name=status] .chip", "Ada is editing");
      const chosen = `document.querySelector("#grace-status input:checked").value`;
      await expect.poll(() => demo.tab.evaluate(chosen), PATIENCE).toBe("Final");
    });

    test("in the demo a cut connection frees the field at once for whoever waits", async () => {
      await using demo = await open();
      await demo.types("ada", "place", "Indoors");
      await demo.enters("grace", "place");
      await demo.sees("grace", "[data-name=place] .line", "You are next in line");
      await demo.clicks("ada", "Cut connection");
      await demo.sees("grace", "[data-name=place] .chip", "You are editing");
      await demo.sees("ada", "[data-name=place] .notice", "This lock is lost.");
      await demo.sees("ada", ".light", "No connection");
      await demo.sees("ada", ".light", "Connected");
    });

    const calm = new Calm(4);
    calm.watch(() => [goesOn(browser)]);

    test("in the demo a frozen window is given up, and what it still writes is refused", calm.options, async () => {
      await using demo = await open(SOON);
      await demo.types("ada", "date", "Sunday");
      await demo.enters("grace", "date");
      await demo.clicks("ada", "Freeze");
      await demo.types("grace", "date", "Monday");
      await expect.poll(() => demo.reads("grace", "date"), PATIENCE).toBe("Monday");
      await demo.clicks("ada", "Thaw");
      await demo.sees("ada", "[data-name=date] .notice", "This write came too late");
      await demo.sees("ada", "[data-name=date] .kept", "Sunday");
      await expect.poll(() => demo.reads("ada", "date"), PATIENCE).toBe("Monday");
      expect(await demo.journal()).toMatch(/Ada is late: a write to Date with fence \S+ is refused/);
    });

    test("in the demo a server with keys is shown one, and what it permits is what can be done", async () => {
      await using demo = await open({ LATCHKEY_KEYS: "correct-horse-battery;name=demo", LATCHKEY_DEMO: "on" });
      await expect.poll(() => demo.tab.evaluate(`document.getElementById("key") !== null`), PATIENCE).toBe(true);
      await demo.tab.evaluate(`document.getElementById("key").focus()`);
      await demo.tab.page.keyboard.type("correct-horse-battery");
      await demo.tab.page.keyboard.press("Enter");
      await demo.isConnected();
      await demo.types("ada", "title", "Picnic");
      await demo.enters("grace", "title");
      await demo.clicks("grace", "Take over");
      await demo.tab.page.keyboard.press("Enter");
      await expect.poll(() => demo.journal(), PATIENCE).toMatch(/Grace cannot have Title: .*permission/);
      await demo.sees("ada", "[data-name=title] .chip", "You are editing");
      await demo.sees("grace", "[data-name=title] .line", "You are next in line");
    });

    test("in the demo every field has a name, and a phone sees one window without scrolling sideways", async () => {
      await using demo = await open();
      const nameless = `[...document.querySelectorAll("input, textarea")].filter((e) => e.labels.length === 0).length`;
      expect(await demo.tab.evaluate(nameless)).toBe(0);
      await demo.tab.page.setViewport({ width: 390, height: 844 });
      const overflow = `document.documentElement.scrollWidth - document.documentElement.clientWidth`;
      expect(await demo.tab.evaluate(overflow)).toBe(0);
      const shown = `[...document.querySelectorAll(".pane")].map((pane) => pane.checkVisibility())`;
      expect(await demo.tab.evaluate(shown)).toEqual([true, false]);
      await demo.tab.evaluate(`document.querySelector(".tabs [data-tone=grace]").click()`);
      expect(await demo.tab.evaluate(shown)).toEqual([false, true]);
    });
  });
}
