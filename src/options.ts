/** What somebody who runs or embeds a server can choose. */

import type { HostChoices } from "./host/settings.ts";

export interface LatchkeyOptions extends HostChoices {
  /** The SQLite file that keeps locks over a restart. Without it they are kept in memory and end with the process. */
  readonly db?: string | undefined;
  /** The SQLite file that keeps idempotency records. Default: `db`. Null keeps them in memory, as long as the process lives. */
  readonly idempotencyDb?: string | null | undefined;
  /** `normal`, the default: what was answered survives the end of the process. `full`: also a power cut, at a price for each lock. */
  readonly sync?: "normal" | "full" | undefined;
  /** Told of every error that no client is told of. The default prints it. */
  readonly onError?: OnError | undefined;
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
