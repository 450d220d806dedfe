/** The bare relay and the bare echo on Bun: the least that a server can do with a frame. */

interface Peer {
  readonly ring: string | null;
  index: number;
}

const rings = new Map<string, Bun.ServerWebSocket<Peer>[]>();

const server = Bun.serve<Peer>({
  hostname: "127.0.0.1",
  port: 0,
  fetch(request, self) {
    const data = { ring: new URL(request.url).searchParams.get("ring"), index: 0 };
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
      (ring?.[(ws.data.index + 1) % ring.length] ?? ws).send(text);
    },
    close(ws) {
      if (ws.data.ring !== null) rings.delete(ws.data.ring);
    },
  },
});

console.log(`http://127.0.0.1:${server.port}`);
