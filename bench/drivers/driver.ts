/** What the benchmark needs of a lock service. A service that offers this in one file can be measured. */

/** How a connection ends: with a close frame, with a FIN only, or with a reset. */
export type Cut = "frame" | "fin" | "rst";

export interface Ask {
  /** Default `exclusive`. */
  readonly mode?: "exclusive" | "shared";
  /** `shared` only: at most this many holders together. */
  readonly limit?: number;
  /** Lease, ms. Default: as long as the connection, or what the driver needs. */
  readonly ttl?: number;
}

export interface Held {
  /** The service's own number of the claim's place in line, where it tells one. */
  readonly ticket?: number | undefined;
  /** When the client heard of that place, ns by `performance.now()`: whoever asked later and was granted at once has overtaken it. */
  readonly queuedAtNs?: number | undefined;
  /** The service's own number of the grant, rising, where it tells one. */
  readonly fence?: number | undefined;
  /** Resolves when the service has acknowledged. */
  release(): Promise<void>;
}

/** One client: an identity of its own for the service, with a connection of its own where there are connections. */
export interface BenchClient {
  /** Waits for as long as it takes. A rejection makes the row invalid. */
  acquire(key: string, ask: Ask): Promise<Held>;
  /** Ends the connection without letting go of anything. Only where `can.drop`. Default `fin`. */
  drop(cut?: Cut): void;
  close(): Promise<void>;
}

export interface Target {
  /** Where the server is; empty for what runs inside the load generator. */
  readonly url: string;
  /** Different for each row: no two rows share a key or a ring. */
  readonly row: string;
  /** All keys that the row will use. */
  readonly keys: readonly string[];
  /** Another load generator of the same row has laid out what the clients share. */
  readonly isLaidOut?: boolean;
}

export interface Opened {
  /** `broken` is called when a connection ends that nobody closed or dropped. */
  connect(index: number, broken: (error: Error) => void): Promise<BenchClient>;
  /** Begins nothing more, and resolves when what is under way has been answered: the process may be stopped for minutes. */
  rest?(): Promise<void>;
  /** The end of a rest. */
  wake?(): void;
  close(): Promise<void>;
}

export interface Capabilities {
  readonly shared: boolean;
  readonly limit: boolean;
  readonly drop: boolean;
  /** Any number of keys. False for the relay, whose one token is one key. */
  readonly keys: boolean;
  /** A client that waits sends nothing. False: it polls, and is stopped while others are measured. */
  readonly quiet: boolean;
  /** What one client asks in one turn is served in that order, so that it can let go and queue again in one go. */
  readonly ordered: boolean;
  readonly clientsMax: number;
}

export interface Driver {
  readonly name: string;
  readonly can: Capabilities;
  open(target: Target): Promise<Opened>;
}

export const nothing: () => Promise<void> = () => Promise.resolve();
