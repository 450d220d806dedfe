/** A page that takes locks when it is told to, and remembers what became of them. */

import { connect, type Lock } from "../../../src/client/index.ts";
import type { HoldCalls } from "../support/hold-calls.ts";

const space = new URLSearchParams(location.search).get("space") ?? "default";
const client = connect(location.origin, { space });
const locks = new Map<string, Lock>();

const calls: HoldCalls = {
  acquire: async (key, timeout) => {
    const lock = await client.acquire(key, timeout === undefined ? {} : { timeout });
    locks.set(key, lock);
    return lock.fence;
  },
  isHeld: (key) => locks.get(key)?.signal.aborted === false,
  session: async () => {
    await client.ready;
    return client.session;
  },
};
Object.assign(globalThis, { calls });
