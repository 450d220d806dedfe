/** What every runtime asks of a request before it is the host's. */

/**
 * A frame of up to this size reaches the host, which closes 4413 when it is above the limit of the protocol. What is
 * larger still is not taken off the wire, and the runtime itself closes (1009).
 */
export const RECEIVED_BYTES_MAX: number = 4 * 1024 * 1024;

const PATHS: ReadonlySet<string> = new Set(["/healthz", "/readyz", "/metrics", "/openapi.json"]);

/** Whether a request is for Latchkey, or for the program that it is embedded in. `url` may lack scheme and host. */
export function isOurs(url: string): boolean {
  // Without building a URL, which would cost more than all the rest of this decision.
  const query = url.indexOf("?");
  const target = query === -1 ? url : url.slice(0, query);
  const authority = target.startsWith("/") ? 0 : target.indexOf("://") + 3;
  const path = target.slice(Math.max(target.indexOf("/", authority), 0));
  return path.startsWith("/v1/") || PATHS.has(path);
}

/** No other method asks for one, and most calls to locks are POSTs: they are spared the look at their headers. */
export function isUpgrade(request: Request): boolean {
  return request.method === "GET" && request.headers.get("upgrade")?.toLowerCase() === "websocket";
}

/** A WebSocket was asked for, but the runtime finds the handshake wanting. */
export function notAnUpgrade(): Response {
  return new Response("The WebSocket handshake is not complete.\n", { status: 400 });
}
