/** Calls of the script on a real Redis, one after the other as they were made, without waiting for each other. */

import { createHash } from "node:crypto";
import { createClient } from "redis";
import { SCRIPT } from "../../../src/fleet/lua/index.ts";
import {
  decodeAnswer,
  decodeTouched,
  decodeWake,
  encodeCall,
  encodeLimits,
  type FleetAnswer,
  type FleetCall,
  type Touched,
  touchedChannel,
  type Wake,
} from "../../../src/fleet/script.ts";

export const PREFIX = "test:";

export interface ScriptRunner {
  run(call: FleetCall): Promise<FleetAnswer>;
  /** Until what it resolves to is called. */
  subscribe(channel: string, hear: (wake: Wake) => void): Promise<() => Promise<void>>;
  /** What is published of the space for those who watch, likewise. */
  watch(space: string, hear: (touched: Touched) => void): Promise<() => Promise<void>>;
  /** A command of Redis' own. */
  send(...args: readonly string[]): Promise<unknown>;
  close(): void;
}

/** `script`: that of the fleet, or one with a bug. */
export async function openRunner(url: string, script: string = SCRIPT): Promise<ScriptRunner> {
  const client = createClient({ url });
  await client.connect();
  await client.scriptLoad(script);
  const listen = async (channel: string, hear: (message: string) => void): Promise<() => Promise<void>> => {
    const listener = client.duplicate();
    await listener.connect();
    await listener.subscribe(channel, hear);
    return async () => {
      // What was published before this is answered has arrived.
      await listener.unsubscribe(channel);
      listener.destroy();
    };
  };
  const hash = createHash("sha1").update(script).digest("hex");
  return {
    run: async (call) => {
      const { keys, args } = encodeCall(PREFIX, call, encodeLimits(call.settings?.limits));
      return decodeAnswer(await client.evalSha(hash, { keys: [...keys], arguments: [...args] }));
    },
    subscribe: (channel, hear) => listen(channel, (message) => hear(decodeWake(message))),
    watch: (space, hear) => listen(touchedChannel(PREFIX, space), (message) => hear(decodeTouched(message))),
    send: (...args) => client.sendCommand([...args]),
    close: () => client.destroy(),
  };
}
