import type { Claims, SessionLink } from "./addition.ts";
import { extensionOf } from "./extension.ts";
import type { Grip } from "./lock.ts";
import type { Hold } from "./session-types.ts";
import type { Client } from "./connect.ts";

/** What the handles of a lock do with the session that it was granted to. */
export function gripOf(session: SessionLink & Pick<Client, "watch">, hold: Hold): Grip {
  const { key, token } = hold;
  return {
    check: () => session.claims(() => undefined),
    extend: async (ttl) => extensionOf(await session.wait(undefined, (call, claims) => claims.extend(call, hold, ttl))),
    release: async () => {
      await session.wait(undefined, (call, claims) => claims.release(call, hold));
    },
    handTo: async (to) => {
      await session.request({ t: "hand_to", key, token, session: to });
    },
    watch: (signal) => session.watch(key, { signal }),
    onError: session.onError,
  };
}
