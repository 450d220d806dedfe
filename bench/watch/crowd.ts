/** A program that watches one key on so many connections: `node crowd.ts URL KEY COUNT`. Each line it reads is answered by how much it was told since. */

import process from "node:process";
import { createInterface } from "node:readline";
import { openSocket } from "./pair.ts";

export interface Told {
  /** States, over all connections. */
  readonly states: number;
  readonly bytes: number;
  /** The most and the fewest that one connection was told. */
  readonly most: number;
  readonly fewest: number;
}

const OPENED_TOGETHER = 50;

async function main(url: string, key: string, count: number): Promise<void> {
  const counts: number[] = Array.from({ length: count }, () => 0);
  let bytes = 0;
  for (let from = 0; from < count; from += OPENED_TOGETHER) {
    const indexes = counts.slice(from, from + OPENED_TOGETHER).map((_, i) => from + i);
    await Promise.all(
      indexes.map(async (i) => {
        const socket = await openSocket(url);
        const watched = new Promise<void>((resolve) => {
          socket.onText = (text) => {
            if (text === "ping") socket.send("pong");
            // Nothing is parsed: what a reader does with it is not what is measured.
            if (!text.startsWith('{"t":"state"')) return;
            counts[i] = (counts[i] ?? 0) + 1;
            bytes += text.length;
            resolve();
          };
        });
        socket.send('{"t":"hello","v":1}');
        socket.send(JSON.stringify({ t: "watch", id: "w", key }));
        await watched;
      }),
    );
  }
  const tell = (): void => {
    const told: Told = {
      states: counts.reduce((sum, each) => sum + each, 0),
      bytes,
      most: Math.max(...counts),
      fewest: Math.min(...counts),
    };
    console.log(JSON.stringify(told));
    counts.fill(0);
    bytes = 0;
  };
  tell();
  createInterface({ input: process.stdin })
    .on("line", tell)
    .on("close", () => process.exit());
}

const [url = "", key = "", count = "0"] = process.argv.slice(2);
await main(url, key, Number(count));
