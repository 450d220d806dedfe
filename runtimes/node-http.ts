/** What Node leaves to the program: upgrade requests are not read and not refused for it, nor does a server end by itself. */

import { type IncomingMessage, type Server, STATUS_CODES } from "node:http";
import type { Duplex, Writable } from "node:stream";

export function isWebSocket({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === "websocket";
}

/** The upgrade request as the web's type; undefined when its target or host make no URL. */
export function requestOf(incoming: IncomingMessage): Request | undefined {
  const url = `http://${incoming.headers.host ?? ""}${incoming.url ?? "/"}`;
  if (!URL.canParse(url)) return undefined;
  const headers = new Headers();
  for (let i = 0; i + 1 < incoming.rawHeaders.length; i += 2) {
    headers.append(incoming.rawHeaders[i] ?? "", incoming.rawHeaders[i + 1] ?? "");
  }
  return new Request(url, { headers });
}

/** Node has detached the socket from HTTP by now, so the answer is written by hand, and the socket is ended with it. */
export async function refuse(socket: Duplex, response: Response): Promise<void> {
  const body = Buffer.from(await response.arrayBuffer());
  const head = [`HTTP/1.1 ${response.status} ${STATUS_CODES[response.status] ?? ""}`];
  for (const [name, value] of response.headers) head.push(`${name}: ${value}`);
  head.push(`content-length: ${body.length}`, "connection: close", "", "");
  // The end alone would leave a peer that never ends its side with an open socket.
  socket.end(Buffer.concat([Buffer.from(head.join("\r\n"), "latin1"), body]), () => socket.destroy());
}

/** Calls `lost` when the connection ends before the answer is written. */
export function onLost(outgoing: Writable, lost: () => void): void {
  const ended = (): void => {
    if (!outgoing.writableFinished) lost();
  };
  if (outgoing.closed) ended();
  else outgoing.once("close", ended);
}

/** How a server ends. It must be called before the server listens. */
export function endingOf(server: Server): { readonly stop: () => Promise<unknown>; readonly abort: () => void } {
  // Node's own closeAllConnections spares those that have become WebSockets.
  const connections = new Set<Duplex>();
  server.on("connection", (connection) => {
    connections.add(connection);
    connection.once("close", () => connections.delete(connection));
  });
  return {
    stop: () => new Promise((resolve) => server.close(resolve)),
    abort: () => {
      for (const connection of connections) connection.destroy();
    },
  };
}
