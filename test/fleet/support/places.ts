/** The two ways to one Redis: as servers are told of them, and as connectors. */

import type { Connector } from "../../../src/fleet/connector.ts";
import { connectTcp } from "../../../src/fleet/tcp.ts";
import { connectUpstash } from "../../../src/fleet/upstash.ts";
import type { FleetChoices } from "../../../src/options.ts";
import { startUpstash, type UpstashStandIn } from "../../stand-ins/upstash.ts";
import { type RedisServer, startRedisServer } from "./redis-server.ts";

export const PLACES = ["over TCP", "over REST"] as const;

export interface Place extends AsyncDisposable {
  readonly server: RedisServer;
  readonly redis: FleetChoices["redis"];
  readonly connect: () => Connector;
  /** Ends what listens, as a proxy or an operator may. */
  readonly cutListeners: (run: (...args: readonly string[]) => Promise<unknown>) => Promise<void>;
}

/** `more`: arguments of redis-server. */
export async function startPlace(kind: (typeof PLACES)[number], ...more: readonly string[]): Promise<Place> {
  const server = await startRedisServer(...more);
  if (kind === "over TCP") {
    return {
      server,
      redis: server.url,
      connect: () => connectTcp(server.url),
      cutListeners: async (run) => void (await run("CLIENT", "KILL", "TYPE", "pubsub")),
      [Symbol.asyncDispose]: () => server.stop(),
    };
  }
  const rest: UpstashStandIn = await startUpstash({ redisUrl: server.url });
  return {
    server,
    redis: { url: rest.url, token: rest.token },
    connect: () => connectUpstash(rest.url, rest.token),
    cutListeners: async () => void rest.cutStreams(),
    async [Symbol.asyncDispose]() {
      await rest.close();
      await server.stop();
    },
  };
}
