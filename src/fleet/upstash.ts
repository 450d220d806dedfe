/** Redis over Upstash's REST interface, with the package `@upstash/redis`: for wherever there is no TCP. */

import type * as UpstashPackage from "@upstash/redis";
import { backoffMs, CALL_MAX_MS, type Connector, inTime, inspected, type Inspection, Scripts } from "./connector.ts";
import type { Listener, ScriptCall, Subscription } from "./connector.ts";
import { FleetError, replyError, silence } from "./error.ts";

/** What is needed of a `Redis` of `@upstash/redis`, of any of its entries (also `/cloudflare`). */
export interface UpstashRedis {
  eval(script: string, keys: string[], args: string[]): Promise<unknown>;
  evalsha(hash: string, keys: string[], args: string[]): Promise<unknown>;
  exec?(command: [string, ...string[]]): Promise<unknown>;
  subscribe(channels: string | string[]): UpstashSubscriber;
}

interface UpstashSubscriber {
  on: (...typeAndListener: never) => void;
  unsubscribe(): Promise<void>;
}

/** The URL begins with `https://`. Loads the package; nothing is asked before the first call. */
export function connectUpstash(url: string, token: string): Connector {
  return connectOver(async () => {
    const { Redis } = await loadUpstash();
    return new Redis({
      url,
      token,
      // Whoever calls tries again, and knows for how long it makes sense.
      retry: { retries: 0 },
      // A call that got no answer is given up, and with it the connection that it may hang on.
      signal: () => AbortSignal.timeout(CALL_MAX_MS),
      automaticDeserialization: false,
      enableAutoPipelining: false,
      enableTelemetry: false,
    });
  });
}

/** Over a client that the caller made, with whatever options. */
export function connectOver(open: () => UpstashRedis | Promise<UpstashRedis>): Connector {
  return new UpstashConnector(open);
}

class UpstashConnector implements Connector {
  readonly #open: () => UpstashRedis | Promise<UpstashRedis>;
  readonly #scripts = new Scripts();
  readonly #streams: Set<Stream> = new Set();
  #redis: Promise<UpstashRedis> | undefined;

  constructor(open: () => UpstashRedis | Promise<UpstashRedis>) {
    this.#open = open;
  }

  async run({ script, keys, args }: ScriptCall): Promise<string> {
    const redis = await this.#client();
    const send = (command: "EVALSHA" | "EVAL", text: string): Promise<unknown> => {
      const rest: [string[], string[]] = [[...keys], [...args]];
      return inTime(command === "EVAL" ? redis.eval(text, ...rest) : redis.evalsha(text, ...rest));
    };
    try {
      return asText(await this.#scripts.run(send, script));
    } catch (error) {
      throw understood(error);
    }
  }

  async inspect(): Promise<Inspection> {
    const redis = await this.#client();
    // Upstash writes to disk before it answers, and its databases drop nothing unless "eviction" was switched on; not all of them tell.
    let told: unknown;
    try {
      told = await inTime(redis.exec?.(["INFO"]) ?? Promise.resolve(""));
    } catch (error) {
      const trouble = understood(error);
      if (trouble.code !== "broken") throw trouble;
    }
    inspected(typeof told === "string" ? told : "");
    return { durable: true };
  }

  subscribe(channel: string, listener: Listener): Subscription {
    const stream = new Stream(() => this.#client(), channel, listener);
    this.#streams.add(stream);
    return {
      renew: () => stream.renew(),
      close: () => {
        this.#streams.delete(stream);
        stream.close();
      },
    };
  }

  async close(): Promise<void> {
    for (const stream of this.#streams) stream.close();
    this.#streams.clear();
  }

  async #client(): Promise<UpstashRedis> {
    this.#redis ??= Promise.resolve(this.#open());
    return this.#redis;
  }
}

/**
 * One channel over server-sent events. When such a stream breaks, the client (1.39) says nothing: no event, no new attempt. Only
 * mail that did not come this way shows it; whoever finds such mail calls `renew`.
 */
class Stream {
  readonly #client: () => Promise<UpstashRedis>;
  readonly #channel: string;
  readonly #listener: Listener;
  #subscriber: UpstashSubscriber | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #failures = 0;
  #isClosed = false;

  constructor(client: () => Promise<UpstashRedis>, channel: string, listener: Listener) {
    this.#client = client;
    this.#channel = channel;
    this.#listener = listener;
    this.#open().catch(() => this.renew());
  }

  renew(): void {
    this.#leave();
    if (this.#isClosed || this.#retry !== undefined) return;
    this.#retry = setTimeout(
      () => {
        this.#retry = undefined;
        this.#open().catch(() => this.renew());
      },
      backoffMs(this.#failures++),
    );
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#leave();
  }

  async #open(): Promise<void> {
    const redis = await this.#client();
    if (this.#isClosed) return;
    const subscriber = redis.subscribe(this.#channel);
    this.#subscriber = subscriber;
    const on = (type: string, listen: (event: { readonly message?: unknown }) => void): void => {
      // One that was given up may still have something to say.
      const heard = (event: { readonly message?: unknown }): void => {
        if (this.#subscriber === subscriber) listen(event);
      };
      (subscriber.on as (type: string, listener: typeof heard) => void).call(subscriber, type, heard);
    };
    on("subscribe", () => {
      this.#failures = 0;
      this.#listener.listening();
    });
    on("message", ({ message }) => this.#listener.message(asText(message)));
    on("error", () => this.renew());
  }

  #leave(): void {
    this.#subscriber?.unsubscribe().catch(() => undefined);
    this.#subscriber = undefined;
  }
}

async function loadUpstash(): Promise<typeof UpstashPackage> {
  try {
    return await import("@upstash/redis");
  } catch {
    throw new FleetError(
      "unsuitable",
      "a fleet on Upstash needs the package @upstash/redis: npm install @upstash/redis",
    );
  }
}

/** A client with `automaticDeserialization` has read the text as JSON already. */
function asText(message: unknown): string {
  return typeof message === "string" ? message : JSON.stringify(message);
}

function understood(error: unknown): FleetError {
  const isReply = error instanceof Error && error.name === "UpstashError";
  return isReply ? replyError(error.message) : silence(error);
}
