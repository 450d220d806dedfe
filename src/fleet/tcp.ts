/** Redis over TCP, with the package `redis`; a Redis Cluster too. */

import type * as RedisPackage from "redis";
import { backoffMs, CALL_MAX_MS, type Connector, inTime, inspected, type Inspection, Scripts } from "./connector.ts";
import type { Listener, ScriptCall, Subscription } from "./connector.ts";
import { FleetError, replyError, silence } from "./error.ts";

type Redis = typeof RedisPackage;

/** One connection, or one client of a cluster. */
interface Link {
  readonly isOpen: boolean;
  send(firstKey: string | undefined, args: readonly string[]): Promise<unknown>;
  subscribe(channel: string, listener: (text: string) => void): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
  destroy(): void;
}

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
  #isCluster: boolean | undefined;
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
    const link = await openClient(redis, this.#url, onLost);
    this.#isCluster ??= /^cluster_enabled:1/m.test(String(await inTime(link.send(undefined, ["INFO", "cluster"]))));
    if (!this.#isCluster) return link;
    link.destroy();
    return openCluster(redis, this.#url);
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
      throw silenceUnlessReply(error);
    }
  }
}

/** The package is optional: whoever has no fleet does not need it. */
async function loadRedis(): Promise<Redis> {
  try {
    return await import("redis");
  } catch {
    throw new FleetError("unsuitable", "a fleet over TCP needs the package redis: npm install redis");
  }
}

/** Reconnecting is ours: a command that waited in a queue of the client would be sent when nobody believes in it any more. */
async function openClient({ createClient }: Redis, url: string, onLost: (link: Link) => void): Promise<Link> {
  const client = createClient({ url, ...clientOptions(false) });
  const link: Link = {
    get isOpen() {
      return client.isReady;
    },
    send: (_firstKey, args) => client.sendCommand(args),
    subscribe: (channel, listener) => client.subscribe(channel, listener),
    unsubscribe: (channel) => client.unsubscribe(channel),
    destroy: () => client.destroy(),
  };
  client.on("error", () => onLost(link));
  try {
    await inTime(client.connect());
    return link;
  } catch (error) {
    client.destroy();
    throw error;
  }
}

/** Its connections to single masters come and go while the others work on, so here the client reconnects. */
async function openCluster({ createCluster }: Redis, url: string): Promise<Link> {
  const { username, password, protocol } = new URL(url);
  const credentials = {
    ...(username !== "" && { username: decodeURIComponent(username) }),
    ...(password !== "" && { password: decodeURIComponent(password) }),
  };
  const { RESP, socket, ...others } = clientOptions(backoffMs);
  const tls = protocol === "rediss:" ? { tls: true } : undefined;
  const defaults = {
    ...others,
    ...credentials,
    socket: { ...socket, ...tls } as RedisPackage.RedisClientOptions["socket"] & object,
  };
  const cluster = createCluster({ RESP, rootNodes: [{ url }], defaults });
  cluster.on("error", () => undefined);
  try {
    await inTime(cluster.connect());
  } catch (error) {
    cluster.destroy();
    throw error;
  }
  return {
    get isOpen() {
      return cluster.isOpen;
    },
    send: (firstKey, args) => cluster.sendCommand(firstKey, false, [...args]),
    subscribe: (channel, listener) => cluster.subscribe(channel, listener),
    unsubscribe: (channel) => cluster.unsubscribe(channel),
    destroy: () => cluster.destroy(),
  };
}

function clientOptions(reconnectStrategy: false | ((failures: number) => number)) {
  return {
    RESP: 2,
    disableOfflineQueue: true,
    disableClientInfo: true,
    socket: { connectTimeout: CALL_MAX_MS, reconnectStrategy },
  } as const;
}

function isReply(error: unknown): error is Error {
  // By its shape: the class comes from a package that may be loaded twice.
  return error instanceof Error && /^(?:[A-Z]{2,}|ERR)\b/.test(error.message);
}

function silenceUnlessReply(error: unknown): unknown {
  return isReply(error) ? replyError(error.message) : silence(error);
}
