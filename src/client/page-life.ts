/**
 * The life of a page, as far as a connection must know of it. A browser may keep a page that was left, or freeze a tab, and answers
 * protocol pings for it all the while, so the server would take it for alive. Hence: what goes away lets go of everything first.
 */

/** What is used of a window. */
export interface Page {
  readonly document: { readonly hidden: boolean };
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

/**
 * Tells what becomes of the page until the signal aborts. It listens on the window and in the capture phase, also for what the
 * document is told, so that it hears of everything before the listeners of a page that connected first do.
 */
export function followPage(page: Page, signal: AbortSignal, tell: (meaning: "leave" | "wake") => void): void {
  for (const type in MEANINGS) {
    const listener = (): void => {
      if (!page.document.hidden || type !== "visibilitychange") tell(MEANINGS[type as keyof typeof MEANINGS]);
    };
    page.addEventListener(type, listener, { capture: true, signal });
  }
}
