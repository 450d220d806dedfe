/** The bare relay, the bare hand-over and the bare echo on Bun: the least that a server can do with a frame. */

import { GRANTED, letsGo, RELEASED_AND_QUEUED } from "./bare-texts.ts";

interface Peer {
  readonly ring: string | null;
  readonly isAnswered: boolean;
  index: number;
}

const rings = new Map<string, Bun.ServerWebSocket<Peer>[]>();

const server = Bun.serve<Peer>({
  hostname: "127.0.0.1",
  port: 0,
  fetch(request, self) {
    const { searchParams } = new URL(request.url);
    const data = { ring: searchParams.get("ring"), isAnswered: searchParams.has("answered"), index: 0 };
    return self.upgrade(request, { data }) ? undefined : new Response("bare");
  },
  websocket: {
    perMessageDeflate: false,
    idleTimeout: 0,
    sendPings: false,
    open(ws) {
      if (ws.data.ring === null) return;
      const ring = rings.get(ws.data.ring) ?? [];
      rings.set(ws.data.ring, ring);
      ws.data.index = ring.push(ws) - 1;
    },
    message(ws, text) {
      const ring = ws.data.ring === null ? undefined : rings.get(ws.data.ring);
      const next = ring?.[(ws.data.index + 1) % ring.length] ?? ws;
      if (!ws.data.isAnswered) next.send(text);
      else if (letsGo(text as string)) {
        next.send(GRANTED);
        ws.send(RELEASED_AND_QUEUED);
      }
    },
    close(ws) {
      if (ws.data.ring !== null) rings.delete(ws.data.ring);
    },
  },
});

console.log(`http://127.0.0.1:${server.port}`);
