/** A core with a port of its own. */

import { isLoopback, urlOf } from "./address.ts";
import { FAREWELL_MAX_MS, once, settlesWithin } from "./ending.ts";
import { type Core, createCore, type OpenSqlite, type Traits } from "./latchkey.ts";
import { HOSTNAME_DEFAULT, PORT_DEFAULT, type RunningServer, type ServeOptions } from "./options.ts";

/** A port that a runtime listens on. */
export interface Listener {
  readonly port: number;
  /** Resolves when the answers under way are sent and all connections are closed. */
  readonly stop: () => Promise<unknown>;
  /** Closes what is left. */
  readonly abort: () => unknown;
}

export async function startServer(
  { hostname = HOSTNAME_DEFAULT, port = PORT_DEFAULT, ...options }: ServeOptions,
  openSqlite: OpenSqlite,
  listen: (core: Core, hostname: string, port: number) => Listener | Promise<Listener>,
  traits?: Traits,
): Promise<RunningServer> {
  if (!isLoopback(hostname) && !options.keys?.length) {
    throw new RangeError(`a server that others can reach, as on ${hostname}, needs keys`);
  }
  const core = createCore(options, openSqlite, traits);
  try {
    await core.ready();
    const listener = await listen(core, hostname, port);
    const close = once(async () => {
      await core.close();
      if (!(await settlesWithin(FAREWELL_MAX_MS, listener.stop()))) await listener.abort();
    });
    return { url: urlOf(hostname, listener.port), port: listener.port, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await core.close();
    throw error;
  }
}
