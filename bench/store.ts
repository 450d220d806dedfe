/**
 * What it costs that a lock outlives its connection: an acquire and a release through the engine and a store, as an HTTP
 * caller's are, without the HTTP. Run: npm run bench:store (Node, Bun and Deno). The stores take turns, so the ratios hold
 * on a machine that is busy; `full` waits for the disk, so it says as much of the disk as of anything else.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type LockCommand, Engine, Outbox } from "../src/core/index.ts";
import { systemClock } from "../src/host/clock.ts";
import { createMint } from "../src/host/mint.ts";
import type { Store } from "../src/host/ports.ts";
import { createMemoryStore } from "../src/stores/memory.ts";
import { runtimeName } from "./runtime.ts";

const ROUNDS = 40;
const PAIRS = { memory: 500, normal: 500, full: 5 } as const;
type Kind = keyof typeof PAIRS;

/** An engine and its store, driven as the host does: step, commit. */
class Bench {
  readonly #engine = new Engine({ serial: 1 });
  readonly #outbox = new Outbox();
  readonly #mint = createMint();
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** A promise where a commit waits for the disk. */
  pair(): void | Promise<void> {
    const token = this.#mint.token();
    const address = { from: "@", key: "k" } as const;
    const acquired = this.#serve({
      kind: "acquire",
      ...address,
      request: this.#mint.token(),
      session: false,
      mode: "exclusive",
      timeoutMs: 10_000,
      ttlMs: 30_000,
      newToken: token,
    });
    const release = (): void | Promise<void> =>
      this.#serve({ kind: "release", ...address, request: this.#mint.token(), token });
    return acquired instanceof Promise ? acquired.then(release) : release();
  }

  #serve(command: LockCommand): void | Promise<void> {
    this.#outbox.clear();
    this.#engine.step(command, systemClock.now(), this.#outbox);
    const { changes, changeCount } = this.#outbox;
    if (changeCount > 0) return this.#store.commit("default", { changes, changeCount });
  }
}

async function main(): Promise<void> {
  const { openSqlite } =
    "Bun" in globalThis ? await import("../src/stores/bun-sqlite.ts") : await import("../src/stores/node-sqlite.ts");
  const folder = mkdtempSync(join(tmpdir(), "latchkey-bench-"));
  const stores: Record<Kind, Store> = {
    memory: createMemoryStore(systemClock),
    normal: openSqlite(join(folder, "normal.db"), { clock: systemClock, sync: "normal" }),
    full: openSqlite(join(folder, "full.db"), { clock: systemClock, sync: "full" }),
  };
  const kinds: readonly Kind[] = ["memory", "normal", "full"];
  try {
    const benches = kinds.map((kind) => ({ kind, bench: new Bench(stores[kind]), times: [] as number[] }));
    for (let round = 0; round < ROUNDS; round++) {
      for (const { kind, bench, times } of benches) {
        const begun = performance.now();
        for (let i = 0; i < PAIRS[kind]; i++) {
          const served = bench.pair();
          if (served !== undefined) await served;
        }
        times.push(((performance.now() - begun) * 1000) / PAIRS[kind]);
      }
    }
    report(benches);
  } finally {
    for (const kind of kinds) await stores[kind].close();
    rmSync(folder, { recursive: true });
  }
}

function report(benches: readonly { readonly kind: Kind; readonly times: number[] }[]): void {
  console.log(`\n${runtimeName()}, acquire + release, median of ${ROUNDS} rounds (lowest to highest)`);
  let memory = Number.NaN;
  for (const { kind, times } of benches) {
    times.sort((a, b) => a - b);
    const median = times[ROUNDS >> 1] ?? Number.NaN;
    if (kind === "memory") memory = median;
    const name = kind === "memory" ? "memory" : `SQLite, sync ${kind}`;
    const range = `${times[0]?.toFixed(1)}–${times.at(-1)?.toFixed(1)}`;
    console.log(
      `  ${name.padEnd(20)} ${median.toFixed(1).padStart(8)} µs  ${(median / memory).toFixed(0).padStart(5)} × memory  (${range})`,
    );
  }
}

await main();
