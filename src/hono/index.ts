/** Middleware for anybody's hono app, on every runtime: a request that is sent twice is carried out once; a stale writer is refused. */

export { fenced, type FencedOptions, type FenceStore, memoryFences } from "./fenced.ts";
export { idempotency } from "./idempotency.ts";
export type { IdempotencyOptions, IdempotencyVariables } from "./options.ts";
