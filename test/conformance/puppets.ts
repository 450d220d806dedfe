/** Starts a session in another process, and speaks for it as if it were here. */

import { fileURLToPath } from "node:url";
import { Child } from "./child.ts";
import { type Hello, TestSocket } from "./socket.ts";

const PROGRAM = fileURLToPath(new URL("./puppet.ts", import.meta.url));

export interface Puppet extends AsyncDisposable {
  readonly process: Child;
  readonly socket: TestSocket;
}

/** `within` is a command that runs the puppet's command, such as `ip netns exec name`. */
export async function startPuppet(url: string, hello: Hello = {}, within: readonly string[] = []): Promise<Puppet> {
  const child = new Child([...within, process.execPath, PROGRAM, url]);
  const socket = new TestSocket({
    protocol: "latchkey.v1",
    send: (data) => child.writeLine(data.toString()),
    pause: () => child.signal("SIGSTOP"),
    terminate: () => child.signal("SIGKILL"),
  });
  const puppet = { process: child, socket, [Symbol.asyncDispose]: () => child[Symbol.asyncDispose]() };
  child.onLine((line) => {
    const code = /^closed (\d+)$/.exec(line)?.[1];
    if (code !== undefined) socket.over({ code: Number(code), reason: "" });
    else if (line !== "open") socket.arrived(line);
  });
  child.onEnd(() => socket.over({ code: 1006, reason: "" }));
  await child.printed(/^open$/);
  await socket.hello(hello);
  return puppet;
}
