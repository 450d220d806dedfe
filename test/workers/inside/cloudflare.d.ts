/** What Cloudflare's runtime and its test tools give to the tests that run inside it, as far as they use it. */

declare module "cloudflare:test" {
  import type { LockObject } from "../../../src/workers/objects.ts";
  import type { ObjectContext } from "../../../src/workers/platform.ts";

  export function runInDurableObject<R>(
    stub: LockObject,
    work: (instance: { alarm(): void }, ctx: ObjectContext) => R | Promise<R>,
  ): Promise<R>;
  export function runDurableObjectAlarm(stub: LockObject): Promise<boolean>;
  export function evictDurableObject(
    stub: LockObject,
    options?: { readonly webSockets: "close" | "hibernate" },
  ): Promise<void>;
}

declare module "cloudflare:workers" {
  import type { LatchkeyEnv } from "../../../src/workers/objects.ts";

  export const env: LatchkeyEnv;
  export const exports: { readonly default: { fetch(request: Request): Promise<Response> } };
}
