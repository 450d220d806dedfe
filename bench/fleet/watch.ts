/** Looks over the shoulders of all clients of a row: there is one holder a key at most, and fences rise. */

import type { BenchClient, Held } from "../drivers/driver.ts";

export class Watch {
  readonly #tell: (violation: string) => void;
  readonly #holders: Map<string, string> = new Map();
  readonly #fences: Map<string, number> = new Map();

  constructor(tell: (violation: string) => void) {
    this.#tell = tell;
  }

  /** The client under this name, watched. */
  over(client: BenchClient, name: string): BenchClient {
    return {
      acquire: async (key, ask) => {
        const held = await client.acquire(key, ask);
        this.#granted(key, name, held);
        const { fence, ticket } = held;
        return {
          fence,
          ticket,
          release: () => {
            // From here on it may be another's.
            this.#holders.delete(key);
            return held.release();
          },
        };
      },
      drop: () => {
        this.#gone(name);
        client.drop();
      },
      close: () => {
        this.#gone(name);
        return client.close();
      },
    };
  }

  /** What it holds passes on as it goes. */
  #gone(name: string): void {
    for (const [key, holder] of this.#holders) if (holder === name) this.#holders.delete(key);
  }

  #granted(key: string, name: string, { fence }: Held): void {
    const other = this.#holders.get(key);
    if (other !== undefined) this.#tell(`${key}: granted to ${name} while ${other} held it`);
    this.#holders.set(key, name);
    if (fence === undefined) return;
    const last = this.#fences.get(key) ?? 0;
    if (fence <= last) this.#tell(`${key}: fence ${fence} after ${last}`);
    this.#fences.set(key, fence);
  }
}
