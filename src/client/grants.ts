import type { SessionLink } from "./addition.ts";
import type { Client } from "./connect.ts";
import type { LockLostError } from "./errors.ts";
import { extensionOf } from "./extension.ts";
import { Grant, LockHandle } from "./lock.ts";
import type { Lock } from "./locks.ts";
import type { Hold } from "./session-types.ts";

/** The locks that a session has handed out. */
export class Grants {
  readonly #session: SessionLink & Pick<Client, "watch">;
  readonly #grants = new WeakMap<Hold, Grant>();

  constructor(session: SessionLink & Pick<Client, "watch">) {
    this.#session = session;
  }

  /** Another one for each acquire; those that were nested share their grant. */
  handle(hold: Hold): Lock {
    const session = this.#session;
    const { key, token } = hold;
    const grant = this.#grants.get(hold) ?? new Grant(hold);
    this.#grants.set(hold, grant);
    return new LockHandle(grant, {
      check: () => session.claims(() => undefined),
      extend: async (ttl) =>
        extensionOf(await session.wait(undefined, (call, claims) => claims.extend(call, hold, ttl))),
      release: async () => {
        await session.wait(undefined, (call, claims) => claims.release(call, hold));
      },
      handTo: async (to) => {
        await session.request({ t: "hand_to", key, token, session: to });
      },
      watch: (signal) => session.watch(key, { signal }),
      onError: session.onError,
    });
  }

  lose(hold: Hold, error: LockLostError): void {
    this.#grants.get(hold)?.lose(error);
  }
}
