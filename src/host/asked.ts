/** A request as the host reads it. The web's Request is one; a runtime whose own is dear may give something lighter. */
export interface Asked {
  readonly method: string;
  /** Whole, with the path as it was sent. */
  readonly url: string;
  readonly headers: Pick<Headers, "get" | "has">;
  readonly body: ReadableStream<Uint8Array> | null;
  /** Aborts when the caller hangs up, where the runtime can see it. */
  readonly signal: HangUp;
  /** Rejects when the body is cut off. */
  arrayBuffer(): Promise<ArrayBuffer | Uint8Array>;
}

/** What is used of an AbortSignal. */
export interface HangUp {
  readonly aborted: boolean;
  addEventListener(type: "abort", listener: () => void, options: { readonly once: true }): void;
  removeEventListener(type: "abort", listener: () => void): void;
}
