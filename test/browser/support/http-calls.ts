/** What the page `http` can be asked for. */

export interface HttpCalls {
  /** Makes connections that later requests can use again. */
  warmUp(count: number): Promise<void>;
  /** Asks for the key by the HTTP API, for the request of that id. */
  acquire(key: string, requestId: string, timeoutMs: number): Promise<Answered>;
}

export interface Answered {
  readonly status: number;
  readonly body: unknown;
  readonly tookMs: number;
}
