/** What Cloudflare's runtime and its test tools give to the tests that run inside it, as far as they use it. */

interface TestStub extends LockObjectStub {
  readonly id: unknown;
}
type LockObjectStub = import("../../../src/workers/objects.ts").LockObject;
type Context = import("../../../src/workers/platform.ts").ObjectContext;

declare module "cloudflare:test" {
  export function runInDurableObject<R>(
    stub: LockObjectStub,
    work: (instance: { alarm(): void }, ctx: Context) => R | Promise<R>,
  ): Promise<R>;
  export function runDurableObjectAlarm(stub: LockObjectStub): Promise<boolean>;
  export function evictDurableObject(
    stub: LockObjectStub,
    options?: { readonly webSockets: "close" | "hibernate" },
  ): Promise<void>;
}
declare module "cloudflare:workers" {
  export const env: import("../../../src/workers/objects.ts").LatchkeyEnv;
  export const exports: { readonly default: { fetch(request: Request): Promise<Response> } };
}
