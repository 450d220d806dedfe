/** A bare HTTP handler on Node, with hono (and Node's requests made into the web's, as it needs them) under `/hono`. */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { answerTo, type Asked, HEADERS } from "./floor-http.ts";
import { createFloor } from "./floor-http-hono.ts";

const hono = getRequestListener(createFloor().fetch, { overrideGlobalObjects: false });

function bare(incoming: IncomingMessage, outgoing: ServerResponse): void {
  let text = "";
  incoming.setEncoding("utf8");
  incoming.on("data", (part: string) => (text += part));
  incoming.on("end", () => {
    const answer = answerTo(incoming.url ?? "", JSON.parse(text) as Asked);
    outgoing.writeHead(200, { ...HEADERS, "content-length": answer.length }).end(answer);
  });
}

const server = createServer((incoming, outgoing) => {
  if (incoming.url?.startsWith("/hono") !== true) bare(incoming, outgoing);
  else hono(incoming, outgoing).catch((error: unknown) => outgoing.destroy(error as Error));
});

server.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
