/**
 * A lock server in a process of its own, so that its memory is that of nobody else. It takes so many MiB more for each session, each
 * grant and each wait as it is told to, tells its address, and ends with its input.
 */

import process from "node:process";
import { lockServer } from "./lock-server.ts";

const MIB = 2 ** 20;

const [session = 0, grant = 0, wait = 0] = process.argv.slice(2).map(Number);
const taken: Buffer[] = [];

process.stdin.resume().on("end", () => process.exit());
const { url } = await lockServer("none", (what) => {
  // Written to, or the kernel would give it none.
  taken.push(Buffer.alloc({ session, grant, wait }[what] * MIB, 1));
});
console.log(url);
