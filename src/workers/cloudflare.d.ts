/** The module of Cloudflare's runtime, as far as it is used here. */
declare module "cloudflare:workers" {
  import type { ObjectContext } from "./platform.ts";

  export abstract class DurableObject<Env = unknown> {
    protected readonly ctx: ObjectContext;
    protected readonly env: Env;
    constructor(ctx: ObjectContext, env: Env);
  }
  export function waitUntil(promise: Promise<unknown>): void;
}
