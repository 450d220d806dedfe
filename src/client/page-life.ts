/**
 * The life of a page, as far as a connection must know of it. A browser may keep a page that was left, or freeze a tab, and answers
 * protocol pings for it all the while, so the server would take it for alive. Hence: what goes away lets go of everything first.
 */

/** What is used of a window. */
export interface Page {
  readonly document: { readonly visibilityState: string };
  addEventListener(type: string, listener: () => void, options: { capture: boolean; signal: AbortSignal }): void;
}

/**
 * `leave`: the page goes away; it may come back, or not. `wake`: the page is back, or the network may be, and what was believed before
 * may not be so. Neither `beforeunload`, which does not mean that the page goes, nor `unload`, which keeps pages from being cached.
 */
const MEANINGS = {
  pagehide: "leave",
  freeze: "leave",
  pageshow: "wake",
  resume: "wake",
  online: "wake",
  visibilitychange: "wake",
} as const;

/** The window that this runs in, if there is a document. Elsewhere nobody freezes anything. */
export function ownPage(): Page | undefined {
  return "document" in globalThis ? (globalThis as unknown as Page) : undefined;
}

/**
 * Tells what becomes of the page until the signal aborts. It listens on the window and in the capture phase, also for what the
 * document is told, so that it hears of everything before the listeners of a page that connected first do.
 */
export function followPage(page: Page, signal: AbortSignal, tell: (meaning: "leave" | "wake") => void): void {
  for (const [type, meaning] of Object.entries(MEANINGS)) {
    const listener = (): void => {
      if (type !== "visibilitychange" || page.document.visibilityState === "visible") tell(meaning);
    };
    page.addEventListener(type, listener, { capture: true, signal });
  }
}
