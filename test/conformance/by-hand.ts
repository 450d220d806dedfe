/** Calls on connections that can be ended at the very moment at which a test wants them to end. */

import { once } from "node:events";
import { createConnection, type Socket } from "node:net";

/** How a program leaves a connection: by its end, as a process that is killed does, or by a reset. */
export type Leave = "destroy" | "resetAndDestroy";

/** An acquire with a long lease. */
export function acquireByHand(url: string, key: string): Promise<Socket> {
  return callByHand(url, `/v1/latch/${key}/acquire`, '{"ttl":60000}');
}

/** Resolves when the call has left; its answer is `data`. */
export async function callByHand(url: string, path: string, body: string): Promise<Socket> {
  const { hostname, port, host } = new URL(url);
  const connection = createConnection(Number(port), hostname);
  await once(connection, "connect");
  connection.write(`POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
  return connection;
}

/** What is answered, at the first moment at which its text is whole: the end of the answer may still be on the way. */
export function readAnswer(connection: Socket): Promise<Readonly<Record<string, unknown>>> {
  return new Promise((resolve, reject) => {
    let text = "";
    connection.on("data", (bytes) => {
      text += bytes.toString();
      const answer = answerIn(text);
      if (answer !== undefined) resolve(answer);
    });
    connection.once("close", () => reject(new Error(`closed after ${text}`)));
  });
}

function answerIn(text: string): Readonly<Record<string, unknown>> | undefined {
  const headEnd = text.indexOf("\r\n\r\n");
  if (headEnd === -1) return undefined;
  try {
    // Lengths of chunks, where it comes in chunks, are on lines of their own; the JSON is on one.
    return JSON.parse(text.slice(headEnd + 4).replaceAll(/(?:^|\r\n)[\dA-Fa-f]+\r\n/g, ""));
  } catch {
    return undefined;
  }
}
