/** The bare relay and the bare echo on Deno: the least that a server can do with a frame. */

const rings = new Map<string, WebSocket[]>();

const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => undefined }, (request) => {
  const name = new URL(request.url).searchParams.get("ring");
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
  socket.addEventListener("message", ({ data }) => ring[(index + 1) % ring.length]?.send(data as string));
  socket.addEventListener("close", () => rings.delete(name));
  return response;
});

console.log(`http://127.0.0.1:${server.addr.port}`);
