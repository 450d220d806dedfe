/**
 * Load generators, a process for each subject and each floor, that serve one row after another. Their code is compiled while it
 * runs, as a server's is: one that starts with its row would be measured while it is slow, and so would whoever it speaks to.
 */

import { driverOf } from "../drivers/all.ts";
import type { RuntimeName } from "../servers/kinds.ts";
import { Loader } from "./loader.ts";
import { Loaders } from "./loaders.ts";

/** Who is measured, as far as its load generators are concerned. */
export interface Generated {
  /** Two that have the same one share their processes. */
  readonly name: string;
  readonly driver: string;
  readonly load: RuntimeName;
}

/** What load generators do before their first row. */
export type WarmUp<W extends Generated> = (who: W, loaders: Loaders) => Promise<void>;

export class LoaderPool<W extends Generated> implements Disposable {
  readonly #idle = new Map<string, Loader[]>();
  readonly #busy = new Map<Loaders, readonly Loader[]>();
  readonly #warm = new WeakSet<Loader>();
  readonly #warmUp: WarmUp<W> | undefined;

  /** Without `warmUp` they begin with their rows as they are. */
  constructor(warmUp?: WarmUp<W>) {
    this.#warmUp = warmUp;
  }

  /** So many that nobody else has. Rejects when they could not be warmed. */
  async take(who: W, count: number): Promise<Loaders> {
    const { can } = await driverOf(who.driver);
    const idle = this.#idle.get(who.name) ?? [];
    const taken = idle.splice(0, count);
    while (taken.length < count) taken.push(new Loader(who.load, can.quiet));
    const loaders = new Loaders(taken);
    this.#busy.set(loaders, taken);
    if (this.#warmUp !== undefined && isKept(can) && taken.some((loader) => !this.#warm.has(loader))) {
      for (const loader of taken) this.#warm.add(loader);
      await this.#warmUp(who, loaders).catch((error: unknown) => {
        this.discard(loaders);
        throw error;
      });
    }
    return loaders;
  }

  /** Their row is over. Those that have something under way which does not end are ended themselves. */
  async giveBack(who: W, loaders: Loaders): Promise<void> {
    const { can } = await driverOf(who.driver);
    const isFree =
      isKept(can) &&
      (await loaders.end().then(
        () => true,
        () => false,
      ));
    if (!isFree) return this.discard(loaders);
    const idle = this.#idle.get(who.name) ?? [];
    this.#idle.set(who.name, [...idle, ...(this.#busy.get(loaders) ?? [])]);
    this.#busy.delete(loaders);
  }

  /** Something went wrong: their connections end with them, and what they hold. */
  discard(loaders: Loaders): void {
    for (const loader of this.#busy.get(loaders) ?? []) loader.kill();
    this.#busy.delete(loaders);
  }

  [Symbol.dispose](): void {
    for (const loaders of this.#busy.keys()) this.discard(loaders);
    for (const loader of [...this.#idle.values()].flat()) loader.kill();
    this.#idle.clear();
  }
}

/** Whoever polls does so until its process ends, and what it takes is the pauses: it is started for each row. */
export function isKept({ quiet }: { readonly quiet: boolean }): boolean {
  return quiet;
}
