/** Two sessions that hand a key to each other, so many times a second. The time from the release to the grant counts. */

import { setTimeout as sleep } from "node:timers/promises";
import { BenchSocket } from "../drivers/socket.ts";

/** One hand-off: somebody queues up, lets go or is granted. What a status shows is another after each of the first and the last. */
export const CHANGES_EACH = 2;

export class Pair {
  readonly #sides: readonly [Side, Side];
  readonly #key: string;
  #holder = 0;
  #token: string | undefined;

  private constructor(key: string, sides: readonly [Side, Side]) {
    this.#key = key;
    this.#sides = sides;
  }

  static async open(url: string, key: string): Promise<Pair> {
    return new Pair(key, [await Side.open(url), await Side.open(url)]);
  }

  /** The times of all hand-offs in so many ms, at most so many a second, ms each. */
  async turn(turnMs: number, perSecond: number): Promise<number[]> {
    this.#token ??= await this.#sides[0].ask({ t: "acquire", key: this.#key }, "granted");
    const took: number[] = [];
    const begun = performance.now();
    for (const end = begun + turnMs; performance.now() < end;) {
      const dueAt = begun + (took.length * 1000) / perSecond;
      const earlyMs = dueAt - performance.now();
      if (earlyMs > 0) await sleep(earlyMs);
      took.push(await this.#handOff(this.#token));
    }
    return took;
  }

  close(): Promise<unknown> {
    return Promise.all(this.#sides.map((side) => side.close()));
  }

  async #handOff(token: string): Promise<number> {
    const holder = this.#sides[this.#holder] as Side;
    const next = this.#sides[1 - this.#holder] as Side;
    await next.ask({ t: "acquire", key: this.#key }, "queued");
    const granted = next.hear("granted");
    const begun = performance.now();
    const released = holder.ask({ t: "release", key: this.#key, token }, "released");
    this.#token = await granted;
    const tookMs = performance.now() - begun;
    await released;
    this.#holder = 1 - this.#holder;
    return tookMs;
  }
}

class Side {
  readonly #socket: BenchSocket;
  readonly #heard: Map<string, (token: string) => void> = new Map();
  #lastId = 0;

  private constructor(socket: BenchSocket) {
    this.#socket = socket;
    socket.onText = (text) => {
      if (text === "ping") socket.send("pong");
      if (!text.startsWith("{")) return;
      const { t, token = "" } = JSON.parse(text) as { t: string; token?: string };
      this.#heard.get(t)?.(token);
    };
  }

  static async open(url: string): Promise<Side> {
    const side = new Side(await openSocket(url));
    await side.ask({ t: "hello", v: 1 }, "welcome");
    return side;
  }

  hear(t: string): Promise<string> {
    return new Promise((resolve) => {
      this.#heard.set(t, resolve);
    });
  }

  ask(frame: object, answer: string): Promise<string> {
    const heard = this.hear(answer);
    this.#socket.send(JSON.stringify({ ...frame, id: `r${++this.#lastId}` }));
    return heard;
  }

  close(): Promise<void> {
    return this.#socket.close();
  }
}

function openSocket(url: string): Promise<BenchSocket> {
  const broken = (error: Error): never => {
    throw error;
  };
  return BenchSocket.open(`${url.replace(/^http/, "ws")}/v1/session`, broken, ["latchkey.v1"]);
}
