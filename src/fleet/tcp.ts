/** Redis over TCP, with the package `redis`; a Redis Cluster too. */

import { backoffMs, type Connector, inTime, inspected, type Inspection, Scripts } from "./connector.ts";
import type { Listener, ScriptCall, Subscription } from "./connector.ts";
import { FleetError, isReply, replyError, silence, unopened } from "./error.ts";
import { type Link, loadRedis, openClient, openCluster } from "./tcp-links.ts";

/** `redis://` or `rediss://`. Nothing is connected before the first call. */
export function connectTcp(url: string): Connector {
  return new TcpConnector(url);
}

class TcpConnector implements Connector {
  readonly #url: string;
  readonly #scripts = new Scripts();
  readonly #commands: Line;
  readonly #listening: Line;
  readonly #listeners: Map<string, Listener> = new Map();
  /** Where the masters of a cluster were found; empty where there is none. */
  readonly #masters: Set<string> = new Set();
  #failures = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #isClosed = false;

  constructor(url: string) {
    this.#url = url;
    this.#commands = new Line(() => this.#open((link) => this.#commands.lost(link)));
    this.#listening = new Line(() => this.#open((link) => this.#interrupted(link)));
  }

  async run({ script, keys, args }: ScriptCall): Promise<string> {
    const rest = [`${keys.length}`, ...keys, ...args];
    const send = (command: string, text: string): Promise<unknown> => this.#call([command, text, ...rest], keys[0]);
    try {
      return String(await this.#scripts.run(send, script));
    } catch (error) {
      throw this.#understood(error);
    }
  }

  async inspect(): Promise<Inspection> {
    try {
      return inspected(String(await this.#call(["INFO"], undefined)));
    } catch (error) {
      throw this.#understood(error);
    }
  }

  subscribe(channel: string, listener: Listener): Subscription {
    this.#listeners.set(channel, listener);
    this.#listen([channel]).catch(() => this.#interrupted(this.#listening.current));
    return {
      renew: () => this.#interrupted(this.#listening.current),
      close: () => {
        this.#listeners.delete(channel);
        this.#listening.current?.unsubscribe(channel).catch(() => undefined);
      },
    };
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#retry);
    this.#listeners.clear();
    this.#commands.close();
    this.#listening.close();
  }

  async #call(args: readonly string[], firstKey: string | undefined): Promise<unknown> {
    const link = await this.#commands.open();
    try {
      return await inTime(link.send(firstKey, args));
    } catch (error) {
      // Silence may mean that the other end is gone without a word: the next call does not wait for the same connection.
      if (error instanceof FleetError && error.code === "unreachable") this.#commands.lost(link);
      throw error;
    }
  }

  #understood(error: unknown): FleetError {
    if (!isReply(error)) return silence(error);
    const understood = replyError(error.message);
    // A master that became a replica: its address may lead to the new master by now.
    if (understood.code === "replica") this.#commands.lost(this.#commands.current);
    return understood;
  }

  async #listen(channels: readonly string[]): Promise<void> {
    const link = await this.#listening.open();
    for (const channel of channels) {
      const listener = this.#listeners.get(channel);
      if (listener === undefined) continue;
      await inTime(link.subscribe(channel, (text) => this.#listeners.get(channel)?.message(text)));
      listener.listening();
    }
    this.#failures = 0;
  }

  /** The connection that listens is lost, or does not do: a new one, soon. */
  #interrupted(link: Link | undefined): void {
    if (link !== undefined && link !== this.#listening.current) return;
    this.#listening.lost(link);
    if (this.#isClosed || this.#listeners.size === 0 || this.#retry !== undefined) return;
    this.#retry = setTimeout(
      () => {
        this.#retry = undefined;
        this.#listen([...this.#listeners.keys()]).catch(() => this.#interrupted(this.#listening.current));
      },
      backoffMs(this.#failures++),
    );
  }

  async #open(onLost: (link: Link) => void): Promise<Link> {
    if (this.#isClosed) throw new FleetError("unreachable", "the connection to Redis is closed");
    const redis = await loadRedis();
    // Any master of a cluster leads to the others, also when the one that was named is away.
    if (this.#masters.size > 0) return openCluster(redis, this.#url, this.#masters);
    const link = await openClient(redis, this.#url, onLost);
    if (!(await isOfCluster(link))) return link;
    link.destroy();
    return openCluster(redis, this.#url, this.#masters);
  }
}

/** A link that is opened when it is needed, by one attempt for all who need it. */
class Line {
  readonly #make: () => Promise<Link>;
  #opening: Promise<Link> | undefined;
  #isClosed = false;
  current: Link | undefined;

  constructor(make: () => Promise<Link>) {
    this.#make = make;
  }

  open(): Promise<Link> {
    if (this.current?.isOpen === false) this.lost(this.current);
    return (this.#opening ??= this.#start());
  }

  /** One that has been replaced already changes nothing any more. */
  lost(link: Link | undefined): void {
    if (link === undefined || link !== this.current) return;
    this.current = undefined;
    this.#opening = undefined;
    link.destroy();
  }

  close(): void {
    this.#isClosed = true;
    this.lost(this.current);
  }

  async #start(): Promise<Link> {
    try {
      const link = await this.#make();
      if (this.#isClosed) link.destroy();
      this.current = link;
      return link;
    } catch (error) {
      this.#opening = undefined;
      throw unopened(error);
    }
  }
}

/** A link that does not tell is gone: nobody else knows of it yet. */
async function isOfCluster(link: Link): Promise<boolean> {
  try {
    return /^cluster_enabled:1/m.test(String(await inTime(link.send(undefined, ["INFO", "cluster"]))));
  } catch (error) {
    link.destroy();
    throw error;
  }
}
