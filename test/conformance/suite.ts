/**
 * What PROTOCOL.md promises, from the outside, over real sockets. One suite for every runtime: where they differ,
 * the difference is declared in runtimes.ts.
 */

import { afterAll, beforeAll, describe } from "vitest";
import { access } from "./access.ts";
import { asking } from "./asking.ts";
import { calls } from "./calls.ts";
import { later } from "./calm.ts";
import { crowd, slowReaders } from "./crowd.ts";
import { frames } from "./frames.ts";
import { holding } from "./holding.ts";
import { idempotency } from "./idempotency.ts";
import { liveness } from "./liveness.ts";
import { names } from "./names.ts";
import { operation } from "./operation.ts";
import { queue } from "./queue.ts";
import { repeats } from "./repeats.ts";
import type { Runtime } from "./runtimes.ts";
import { type Server, startServer } from "./server.ts";
import { sessions } from "./sessions.ts";
import { type Silence, silence } from "./silence.ts";
import type { Subject } from "./subject.ts";
import { watching } from "./watching.ts";

const TOPICS = {
  names,
  calls,
  queue,
  holding,
  asking,
  watching,
  "repeated requests": repeats,
  frames,
  sessions,
  liveness,
  access,
  "idempotent work": idempotency,
  crowd,
  "slow readers": slowReaders,
  operation,
};

export type Topic = keyof typeof TOPICS;

export const ALL_TOPICS = Object.keys(TOPICS) as readonly Topic[];

export function conformance(runtime: Runtime, topics: readonly Topic[] = ALL_TOPICS): void {
  describe(`on ${runtime.name}`, () => {
    let server: Server;
    let silent: Promise<Silence>;

    beforeAll(async () => {
      server = await startServer(runtime);
      silent = later(silence(server.socketUrl));
    });

    afterAll(async () => {
      await server[Symbol.asyncDispose]();
    });

    const subject: Subject = {
      runtime,
      get url() {
        return server.url;
      },
      get socketUrl() {
        return server.socketUrl;
      },
      get output() {
        return server.process.output;
      },
      get silence() {
        return silent;
      },
    };
    for (const name of topics) {
      describe(`the rules of ${name}`, () => {
        TOPICS[name](subject);
      });
    }
  });
}
