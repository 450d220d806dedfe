/** What somebody who runs or embeds a server can choose. */

import type { HostChoices } from "./host/settings.ts";

export interface LatchkeyOptions extends HostChoices {
  /** The SQLite file that keeps locks over a restart. Without it they are kept in memory and end with the process. */
  readonly db?: string | undefined;
  /** The SQLite file that keeps idempotency records. Default: `db`. Null keeps them in memory, as long as the process lives. */
  readonly idempotencyDb?: string | null | undefined;
  /** `normal`, the default: what was answered survives the end of the process. `full`: also a power cut, at a price for each lock. */
  readonly sync?: "normal" | "full" | undefined;
  /** One lock space for many processes, in a Redis that all of them use. Then `db`, `idempotencyDb` and `sync` mean nothing: all is kept there. */
  readonly fleet?: FleetChoices | undefined;
  /** Told of every error that no client is told of. The default prints it. */
  readonly onError?: OnError | undefined;
}

export interface FleetChoices {
  /** Where Redis is: over TCP with the package `redis` (`redis://…`, `rediss://…`), or over REST with `@upstash/redis`. */
  readonly redis: string | { readonly url: string; readonly token: string };
  /** Before the name of everything in Redis, without braces: fleets with different ones never meet. Default `latchkey:`. */
  readonly prefix?: string | undefined;
  /** A process that Redis has not heard of for so long is given up by the others, with its sessions, ms. Default 10 s. */
  readonly leaseMs?: number | undefined;
  /** What a lost push would have told is found out within this time, ms. Default and most: 1 s. */
  readonly retryMs?: number | undefined;
}

export type OnError = (error: unknown, context: { readonly where: string }) => void;

export interface ServeOptions extends LatchkeyOptions {
  /** The default is the loopback address 127.0.0.1. Any address that others reach needs keys. */
  readonly hostname?: string | undefined;
  /** The default is 8787; 0 takes a free one. */
  readonly port?: number | undefined;
}

export interface RunningServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
  /** Tells every session to come back later; resolves when all are gone and the port is free. */
  close(): Promise<void>;
}

export const HOSTNAME_DEFAULT = "127.0.0.1";
export const PORT_DEFAULT = 8787;
