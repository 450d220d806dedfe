/** Processes that hold a lock in order to be killed. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import type { Target } from "../drivers/driver.ts";

/** What a victim is told, as its one argument. */
export interface Fate {
  readonly driver: string;
  readonly target: Target;
  /** Of the bare socket to whoever will kill it. */
  readonly port: number;
}

export interface Victim {
  readonly child: ChildProcess;
  /** A bare socket of the victim's: it ends when the kernel lets go of the process. */
  readonly socket: Socket;
}

const FILE = fileURLToPath(new URL("victim.ts", import.meta.url));

export class Victims {
  readonly #driver: string;
  readonly #target: Target;
  readonly #server: Server = createServer();

  constructor(driver: string, target: Target) {
    this.#driver = driver;
    this.#target = target;
    this.#server.listen(0, "127.0.0.1");
  }

  /** Resolves when it holds the row's key: only then does it connect to here. */
  async next(): Promise<Victim> {
    if (!this.#server.listening) await once(this.#server, "listening");
    const { port } = this.#server.address() as AddressInfo;
    const fate: Fate = { driver: this.#driver, target: this.#target, port };
    const child = spawn(process.execPath, [FILE, JSON.stringify(fate)], { stdio: ["ignore", "ignore", "inherit"] });
    const ended = once(child, "exit").then(([code]) => {
      throw new Error(`a victim ended by itself with ${code}`);
    });
    // It is killed later, when nobody listens any more.
    ended.catch(() => undefined);
    const [socket] = (await Promise.race([once(this.#server, "connection"), ended])) as [Socket];
    socket.on("error", () => undefined);
    // Its end is told only to whoever reads.
    socket.resume();
    return { child, socket };
  }

  async close(): Promise<void> {
    await this.#server[Symbol.asyncDispose]();
  }
}
