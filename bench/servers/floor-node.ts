/** The bare relay, the bare hand-over and the bare echo on Node: the least that a server can do with a frame. */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type WebSocket, WebSocketServer } from "ws";
import { GRANTED, letsGo, RELEASED_AND_QUEUED } from "./bare-texts.ts";

const rings = new Map<string, WebSocket[]>();
const server = createServer();
const sockets = new WebSocketServer({ server, clientTracking: false, perMessageDeflate: false });

sockets.on("connection", (ws, request) => {
  const { searchParams } = new URL(request.url ?? "/", "http://localhost");
  const name = searchParams.get("ring");
  ws.on("error", () => undefined);
  if (name === null) {
    ws.on("message", (data: Buffer) => ws.send(data.toString()));
    return;
  }
  const ring = rings.get(name) ?? [];
  rings.set(name, ring);
  const index = ring.push(ws) - 1;
  const next = (): WebSocket | undefined => ring[(index + 1) % ring.length];
  if (searchParams.has("answered")) {
    ws.on("message", (data: Buffer) => {
      if (!letsGo(data.toString())) return;
      next()?.send(GRANTED);
      ws.send(RELEASED_AND_QUEUED);
    });
  } else {
    ws.on("message", (data: Buffer) => next()?.send(data.toString()));
  }
  ws.on("close", () => rings.delete(name));
});

server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
