/** From which web pages a request may come. A request without `Origin` comes from no page. */

import type { Asked } from "./asked.ts";

/** All of 127.0.0.0/8 is loopback, and an address is no name that a page could let point elsewhere. */
const LOOPBACK_NAME = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;

/** The same as they are mostly written, with a port: it spares the making of a URL. */
const LOOPBACK_PLAIN = /^(?:localhost|127\.0\.0\.1)(?::\d{1,5})?$/;

/**
 * Whether the page that sent this may do so: it is the host's own, or listed. Checked before anything happens,
 * since browsers send some requests (and every WebSocket upgrade) to anybody without asking first.
 */
export function isOriginAllowed(request: Asked, origins: readonly string[]): boolean {
  const origin = request.headers.get("origin");
  return origin === null || origins.includes(origin) || isOwn(origin, hostOf(request));
}

/** The scheme is not compared: behind a proxy that ends TLS the host sees http where the page sees https. */
function isOwn(origin: string, host: string): boolean {
  const start = origin.indexOf("://");
  return start > 0 && origin.slice(start + 3) === host.toLowerCase();
}

/** A page can make its own name point to 127.0.0.1, but it cannot make the browser send another name. */
export function isLoopback(request: Asked): boolean {
  const host = hostOf(request);
  if (LOOPBACK_PLAIN.test(host)) return true;
  try {
    return LOOPBACK_NAME.test(new URL(`http://${host}`).hostname);
  } catch {
    return false;
  }
}

function hostOf(request: Asked): string {
  return request.headers.get("host") ?? new URL(request.url).host;
}
