/** What somebody who mounts the middleware can choose, and what the handler behind it can see. */

import type { Context } from "hono";
import type { IdempotencyCalls } from "../client/idempotency-calls.ts";

export interface IdempotencyOptions {
  /** Any Latchkey client's `idempotency`, in this process or remote. A function where it is only known with a request, as on Workers. */
  readonly calls: IdempotencyCalls | ((c: Context) => IdempotencyCalls);
  /**
   * Who is asking: each has keys of their own, and never gets another's answers. Take what stays the same over a repeat, so
   * an account and not a token that is renewed. `() => ""` where all callers are one.
   */
  readonly principal: (c: Context) => string | Promise<string>;
  /** Default true: a request without the header is refused. False: it is let through and runs each time. */
  readonly required?: boolean | undefined;
  /** How long an answer is kept, ms: 1 s to 30 days. Default: the server's, a day. */
  readonly ttl?: number | undefined;
  /** After how much silence of this process another may carry the request out, ms: 100 ms to a day, default 30 s. Extended while the handler runs. */
  readonly lease?: number | undefined;
  /** How long to wait for the answer of the same request under way, ms. Default 0: 409 at once. */
  readonly timeout?: number | undefined;
  /** Before the keys of the records. Default `http/`. */
  readonly prefix?: string | undefined;
  /** A request with a larger body is refused with 413, before the handler runs. Default 1 MiB. */
  readonly bodyBytesMax?: number | undefined;
  /** The headers that a repeat gets back, in the place of the default ones. `Set-Cookie` cannot be one. */
  readonly headers?: readonly string[] | undefined;
  /**
   * Whether an answer is kept. Default: any below 500. What is not kept leaves the request open: sent again, it is carried out
   * again.
   */
  readonly isKept?: ((response: Response) => boolean) | undefined;
  /** What makes two requests the same one. Default: method, path with its query, and the body, JSON by what it means. */
  readonly fingerprint?: ((c: Context, body: Uint8Array<ArrayBuffer>) => string | Promise<string>) | undefined;
  /** Hears of what no caller is told. Default: printed. */
  readonly onError?: ((error: unknown, context: { readonly where: string }) => void) | undefined;
}

export interface IdempotencyVariables {
  /** Absent for a request that is let through without a key. */
  readonly idempotency?: {
    /** Whoever shows it owns the attempt: keep it secret. */
    readonly attempt: string;
    /** 1 for the first; above, an earlier attempt began and its end is not known. */
    readonly number: number;
    /** Aborts when another attempt may run: whatever this one still does may be done twice. */
    readonly signal: AbortSignal;
  };
}
