/** What a run starts: a Redis of its own, the stand-in for Upstash before it, and servers that share it. */

import { program, type RuntimeName, start, whyMissing } from "../servers/kinds.ts";
import { inRepository } from "../servers/paths.ts";
import { startServer, temporaryFolder } from "../servers/server.ts";
import { Meter } from "./meter.ts";

const ADDRESS = /http:\/\/127\.0\.0\.1:\d+/;

export interface Site extends AsyncDisposable {
  readonly redisUrl: string;
  readonly restUrl: string;
  readonly meter: Meter;
  readonly serverUrls: readonly string[];
  /** Starts a process that publishes back what it hears; ends with what this gives. */
  readonly answerer: () => Promise<() => Promise<void>>;
}

export async function openSite(runtime: RuntimeName, serverCount: number): Promise<Site> {
  const missing = whyMissing("redis");
  if (missing !== undefined) throw new Error(missing);
  await using stack = new AsyncDisposableStack();
  const begin = async (begun: Promise<{ readonly url: string; stop(): Promise<void> }>): Promise<string> => {
    const server = await begun;
    stack.defer(() => server.stop());
    return server.url;
  };
  const redisUrl = await begin(start("redis"));
  const meter = await Meter.open(redisUrl);
  stack.defer(() => meter.close());
  const restUrl = await begin(startHelper("upstash", redisUrl, ADDRESS));
  const serverUrls: string[] = [];
  for (let i = 0; i < serverCount; i++) serverUrls.push(await begin(startMember(runtime, redisUrl)));
  const all = stack.move();
  return {
    redisUrl,
    restUrl,
    meter,
    serverUrls,
    answerer: async () => {
      const answerer = await startHelper("answer", redisUrl, /ready/);
      return () => answerer.stop();
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

function startMember(runtime: RuntimeName, redisUrl: string): ReturnType<typeof startServer> {
  return startServer({
    command: [...program(runtime), inRepository(`runtimes/${runtime}.ts`)],
    env: { HOST: "127.0.0.1", PORT: "0", LOCK_ADAPTER: "redis", REDIS_URL: redisUrl },
    folder: temporaryFolder(),
    ready: ADDRESS,
  });
}

function startHelper(name: "answer" | "upstash", redisUrl: string, ready: RegExp): ReturnType<typeof startServer> {
  return startServer({
    command: [...program("node"), inRepository(`bench/servers/${name}.ts`), redisUrl],
    folder: temporaryFolder(),
    ready,
  });
}
