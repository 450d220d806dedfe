/** What stands between programs and Redis, or Upstash: it loses answers to what was done, or holds back all that is said. */

import { connect, createServer, type Socket } from "node:net";
import type { AddressInfo } from "node:net";

const LOOPBACK = "127.0.0.1";

export class Middleman implements AsyncDisposable {
  /** Loses the answer to every one of that many calls of a script, and the connection with it; 0: none. */
  loses = 0;
  #lostCount = 0;
  #calls = 0;
  #isCut = false;
  readonly #sockets = new Set<Socket>();
  readonly #server = createServer((client) => this.#serve(client));
  readonly #target: number;

  private constructor(target: number) {
    this.#target = target;
  }

  /** In front of that port. */
  static async start(target: number): Promise<Middleman> {
    const middleman = new Middleman(target);
    await new Promise<void>((resolve) => {
      middleman.#server.listen(0, LOOPBACK, resolve);
    });
    return middleman;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** So many answers were lost. */
  get lostCount(): number {
    return this.#lostCount;
  }

  /** Nothing passes any more, and nobody is told. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** What was said meanwhile arrives now. */
  heal(): void {
    this.#isCut = false;
    for (const socket of this.#sockets) socket.resume();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }

  #serve(client: Socket): void {
    const redis = connect(this.#target, LOOPBACK);
    let isLosing = false;
    this.#join(client, redis);
    this.#join(redis, client);
    client.on("data", (bytes) => {
      isLosing ||= this.#isToBeLost(bytes);
      redis.write(bytes);
    });
    redis.on("data", (bytes) => {
      if (!isLosing) return void client.write(bytes);
      this.#lostCount += 1;
      client.destroy();
    });
  }

  #isToBeLost(bytes: Buffer): boolean {
    if (this.loses === 0 || !/evalsha/i.test(bytes.toString("latin1"))) return false;
    return ++this.#calls % this.loses === 0;
  }

  /** The end of one is told to the other when what it said before has arrived. */
  #join(one: Socket, other: Socket): void {
    this.#sockets.add(one);
    one.setNoDelay();
    one.on("error", () => undefined);
    one.on("close", () => {
      this.#sockets.delete(one);
      other.destroySoon();
    });
    if (this.#isCut) one.pause();
  }
}
