/** A program that watches one key on so many connections: `node crowd.ts URL KEY COUNT`. Each line it reads is answered by how much it was told since. */

import process from "node:process";
import { createInterface } from "node:readline";
import { Reader } from "./reader.ts";

export interface Told {
  /** States, over all connections. */
  readonly states: number;
  /** The most and the fewest that one connection was told. */
  readonly most: number;
  readonly fewest: number;
}

const OPENED_TOGETHER = 20;
const BUFFER_BYTES = 64 * 1024;

async function main(url: string, key: string, count: number): Promise<void> {
  const buffer = Buffer.alloc(BUFFER_BYTES);
  const frames = ['{"t":"hello","v":1}', JSON.stringify({ t: "watch", id: "w", key })];
  const readers: Reader[] = [];
  while (readers.length < count) {
    const together = Array.from({ length: Math.min(OPENED_TOGETHER, count - readers.length) });
    readers.push(...(await Promise.all(together.map(() => Reader.open(url, frames, buffer)))));
  }
  const tell = (): void => {
    const counts = readers.map(({ states }) => states);
    for (const reader of readers) reader.states = 0;
    const states = counts.reduce((sum, each) => sum + each, 0);
    console.log(JSON.stringify({ states, most: Math.max(...counts), fewest: Math.min(...counts) } satisfies Told));
  };
  tell();
  createInterface({ input: process.stdin })
    .on("line", tell)
    .on("close", () => process.exit());
}

const [url = "", key = "", count = "0"] = process.argv.slice(2);
await main(url, key, Number(count));
