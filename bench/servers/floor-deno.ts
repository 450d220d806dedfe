/** The bare relay, the bare hand-over and the bare echo on Deno: the least that a server can do with a frame. */

import { GRANTED, letsGo, RELEASED_AND_QUEUED } from "./bare-texts.ts";

const rings = new Map<string, WebSocket[]>();

const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, (request) => {
  const { searchParams } = new URL(request.url);
  const name = searchParams.get("ring");
  const isAnswered = searchParams.has("answered");
  const { socket, response } = Deno.upgradeWebSocket(request, { idleTimeout: 0 });
  if (name === null) {
    socket.addEventListener("message", ({ data }) => socket.send(data as string));
    return response;
  }
  let ring: WebSocket[] = [];
  let index = 0;
  socket.addEventListener("open", () => {
    ring = rings.get(name) ?? [];
    rings.set(name, ring);
    index = ring.push(socket) - 1;
  });
  const next = (): WebSocket | undefined => ring[(index + 1) % ring.length];
  socket.addEventListener("message", ({ data }) => {
    if (!isAnswered) next()?.send(data as string);
    else if (letsGo(data as string)) {
      next()?.send(GRANTED);
      socket.send(RELEASED_AND_QUEUED);
    }
  });
  socket.addEventListener("close", () => rings.delete(name));
  return response;
});

console.log(`http://127.0.0.1:${server.addr.port}`);
