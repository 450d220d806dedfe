/** Locks and idempotent work over plain HTTP, for programs that cannot keep a connection. Its errors are those of the other two entries. */

export { type HttpAcquireOptions, type HttpClient, httpClient, type HttpOptions } from "./http-client.ts";
export type { Fetch } from "./http-request.ts";
