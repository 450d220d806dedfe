/**
 * A session in a process of its own, so that the process can be killed, frozen or cut off. It sends each line of its
 * standard input as a frame, prints each frame that arrives as a line, and answers pings as a client must.
 */

import { createInterface } from "node:readline";
import { WebSocket } from "ws";
import { framesIn } from "./socket.ts";

const socket = new WebSocket(process.argv[2]!, "latchkey.v1", { perMessageDeflate: false });
socket.on("message", (bytes: Buffer) => {
  const text = bytes.toString();
  if (text === "ping") socket.send("pong");
  for (const frame of framesIn(text)) process.stdout.write(`${frame}\n`);
});
socket.on("open", () => process.stdout.write("open\n"));
socket.on("close", (code) => process.stdout.write(`closed ${code}\n`));
socket.on("error", (error) => process.stdout.write(`error ${error.message}\n`));
createInterface({ input: process.stdin }).on("line", (line) => socket.send(line));
