/**
 * Latchkey inside a Node server, beside routes of its own.
 *
 *   node examples/node-server.ts
 */

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createLatchkey } from "latchkey/node";

const latchkey = createLatchkey({ db: process.env["LATCHKEY_DB"] ?? "latchkey.db" });

const server = createServer((request, response) => {
  if (!latchkey.request(request, response)) response.end("my own page\n");
});
server.on("upgrade", (request, socket, head) => {
  if (!latchkey.upgrade(request, socket, head)) socket.destroy();
});
server.listen(Number(process.env["PORT"] ?? 3000), "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  console.log(`listening on http://127.0.0.1:${port}`);
});
