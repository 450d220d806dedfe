/** The module of Cloudflare's runtime, as far as it is used here. */
declare module "cloudflare:workers" {
  export abstract class DurableObject<Env = unknown> {
    protected readonly ctx: import("./platform.ts").ObjectContext;
    protected readonly env: Env;
    constructor(ctx: import("./platform.ts").ObjectContext, env: Env);
  }
  export function waitUntil(promise: Promise<unknown>): void;
}
