/** What the benchmark uses of the two redlocks: one comes without types, the other hides them from today's resolution. */

declare module "redlock" {
  export class Redlock5 {
    constructor(clients: readonly unknown[], settings: { readonly retryCount: number });
    acquire(keys: readonly string[], durationMs: number): Promise<{ release(): Promise<unknown> }>;
  }
  export { Redlock5 as default };
}

declare module "redlock4" {
  export class Redlock4 {
    constructor(clients: readonly unknown[], settings: { readonly retryCount: number });
    lock(key: string, durationMs: number): Promise<{ unlock(): Promise<unknown> }>;
  }
  export { Redlock4 as default };
}
