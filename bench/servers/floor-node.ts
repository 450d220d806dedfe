/** The bare relay and the bare echo on Node: the least that a server can do with a frame. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";

const rings = new Map<string, WebSocket[]>();
const server = createServer();
const sockets = new WebSocketServer({ server, clientTracking: false, perMessageDeflate: false });

sockets.on("connection", (ws, request) => {
  const name = new URL(request.url ?? "/", "http://localhost").searchParams.get("ring");
  ws.on("error", () => undefined);
  if (name === null) {
    ws.on("message", (data: Buffer) => ws.send(data.toString()));
    return;
  }
  const ring = rings.get(name) ?? [];
  rings.set(name, ring);
  const index = ring.push(ws) - 1;
  ws.on("message", (data: Buffer) => ring[(index + 1) % ring.length]?.send(data.toString()));
  ws.on("close", () => rings.delete(name));
});

server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
