/**
 * Sessions that all want one key, in a process of their own. Whoever has it writes its fence into a file that all crowds share, as into
 * the resource that the lock protects, and again when it lets go or learns that it lost the key: the order of the lines is what really happened.
 *
 *     queued <member> <position>   held <member> <fence>   freed <member> <fence>   lost <member> <fence>   failed <member> <why>
 *
 * Commands on the standard input: `queue <from> <to>` for the members of these numbers, and `stay <n>`: the nth who has the key
 * keeps it until it is lost. `here <n>` is answered by the same.
 */

import { appendFileSync } from "node:fs";
import process from "node:process";
import { createInterface } from "node:readline";
import { type Client, connect, type WebSocketConstructor } from "../../../src/client/index.ts";

const [url = "", name = "", count = "", key = "", log = ""] = process.argv.slice(2);
const HOLD_MS = 1;
let heldCount = 0;
let staysAt = Number.POSITIVE_INFINITY;

const members = Array.from({ length: Number(count) }, (_, i) => {
  const member = `${name}-${i}`;
  const reconnect = { baseMs: 100, capMs: 300 };
  return { member, client: connect(url, { reconnect, WebSocket: observed(member), onError: () => undefined }) };
});
await Promise.all(members.map(({ client }) => client.ready));
console.log("ready");

createInterface({ input: process.stdin }).on("line", (line) => {
  const [command, first, second] = line.split(" ");
  if (command === "stay") staysAt = Number(first);
  else if (command === "here") console.log(line);
  else for (const { member, client } of members.slice(Number(first), Number(second))) queue(member, client);
});

function queue(member: string, client: Client): void {
  take(member, client).catch((error: unknown) => write("failed", member, String(error)));
}

async function take(member: string, client: Client): Promise<void> {
  const lock = await client.acquire(key);
  if (lock.signal.aborted) return;
  write("held", member, lock.fence);
  let isOver = false;
  lock.signal.addEventListener("abort", () => {
    if (!isOver) write("lost", member, lock.fence);
    isOver = true;
  });
  heldCount += 1;
  if (heldCount === staysAt) {
    console.log("staying", lock.fence);
    return;
  }
  await new Promise((resolve) => {
    setTimeout(resolve, HOLD_MS);
  });
  if (isOver) return;
  isOver = true;
  write("freed", member, lock.fence);
  await lock.release().catch(() => undefined);
}

function write(...words: readonly (string | number)[]): void {
  appendFileSync(log, `${words.join(" ")}\n`);
}

/** A WebSocket that notes which place in the queue its session was told. */
function observed(member: string): WebSocketConstructor {
  return class extends WebSocket {
    constructor(address: string, protocols: string[]) {
      super(address, protocols);
      this.addEventListener("message", ({ data }) => {
        const position = /"t":"queued"[^}]*"position":(\d+)/.exec(String(data))?.[1];
        if (position !== undefined) write("queued", member, position);
      });
    }
  };
}
