/** A page in a tab: what a test asks of it, and how it looks. */

import type { CDPSession, Page } from "puppeteer-core";

export interface Look {
  readonly width: number;
  readonly height: number;
  /** Chromium only. */
  readonly scheme?: "light" | "dark";
  /** Where the picture goes, as PNG. */
  readonly path?: `${string}.png`;
  /** All of the page, and not only what is seen without scrolling. */
  readonly fullPage?: boolean;
}

type Arguments<Call> = Call extends (...args: infer Args) => unknown ? Args : never;
type Result<Call> = Call extends (...args: never) => infer Given ? Awaited<Given> : never;

/** `Offered`: the calls that the page puts into `globalThis.calls`, by name. Their arguments and results are JSON. */
export class Tab<Offered = unknown> implements AsyncDisposable {
  readonly page: Page;
  /** What the page threw and nobody caught. */
  readonly errors: string[] = [];

  constructor(page: Page) {
    this.page = page;
    page.on("pageerror", (error) => {
      this.errors.push(String(error));
    });
  }

  call<Name extends keyof Offered & string>(
    name: Name,
    ...args: Arguments<Offered[Name]>
  ): Promise<Result<Offered[Name]>> {
    return this.page.evaluate(`calls[${JSON.stringify(name)}](...${JSON.stringify(args)})`) as Promise<
      Result<Offered[Name]>
    >;
  }

  /** Any JavaScript; resolves with its value, which must be JSON. */
  evaluate<Value>(code: string): Promise<Value> {
    return this.page.evaluate(code) as Promise<Value>;
  }

  async screenshot({ width, height, scheme, path, fullPage = false }: Look): Promise<Uint8Array> {
    await this.page.setViewport({ width, height });
    if (scheme !== undefined) {
      await this.page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    }
    return this.page.screenshot({ fullPage, ...(path !== undefined && { path }) });
  }

  /** The DevTools protocol of this tab. Chromium only. */
  devtools(): Promise<CDPSession> {
    return this.page.createCDPSession();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.page.isClosed()) await this.page.close();
  }
}
