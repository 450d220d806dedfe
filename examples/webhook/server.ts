/**
 * A webhook endpoint that may run on any number of servers. Try it with a lock server and two of these:
 *
 *   npm start &
 *   PORT=9001 node examples/webhook/server.ts &
 *   PORT=9002 node examples/webhook/server.ts &
 *   curl -d '{"id":"evt_1"}' http://127.0.0.1:9001 & curl -d '{"id":"evt_1"}' http://127.0.0.1:9002
 */

import { mkdir, stat, writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { setTimeout as passed } from "node:timers/promises";
import { httpClient } from "latchkey/client/http";
import { type Event, type Marks, processOnce, type Work } from "./handler.ts";

const { LATCHKEY_URL = "http://127.0.0.1:8787", PORT = "0", MARKS = "webhook-marks" } = process.env;

const locks = httpClient(LATCHKEY_URL);

/** A folder that the servers share stands for their database: a file for each event that is done. */
const marks: Marks = {
  has: async ({ id }) => (await stat(markOf(id)).catch(() => undefined)) !== undefined,
  add: async ({ id }, fence) => writeFile(markOf(id), `${fence}\n`, { flag: "wx" }),
};

const charge: Work = async ({ id }, signal) => {
  console.log(`charging the customer for ${id}`);
  await passed(200, undefined, { signal });
};

await mkdir(MARKS, { recursive: true });

const server = createServer((request, response) => {
  deliver(request).then(
    (outcome) => response.end(`${outcome}\n`),
    (error: unknown) => {
      // Any answer but success makes the sender deliver the event again.
      console.error(error);
      response.writeHead(503).end();
    },
  );
});
server.listen(Number(PORT), "127.0.0.1", () => {
  const { port } = server.address() as AddressInfo;
  console.log(`listening on http://127.0.0.1:${port}`);
});

async function deliver(request: IncomingMessage): Promise<string> {
  const event = (await json(request)) as Event;
  return processOnce(event, locks, marks, charge);
}

function markOf(id: string): string {
  return `${MARKS}/${encodeURIComponent(id)}`;
}
