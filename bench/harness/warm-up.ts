/**
 * Servers whose code is compiled while it runs. One that has just started takes three to five times the processor time for a cycle,
 * for some ten thousand of them; who asks what a server costs means one that has been up for longer than that.
 */

import { WARM_UP } from "../scenarios.ts";
import type { ServerKind } from "../servers/kinds.ts";
import type { BenchServer } from "../servers/server.ts";
import { Loaders } from "./loaders.ts";

/** With each driver. */
const OWN_MS = 3_000;
/** A floor has next to nothing to compile but what its runtime brings. */
const FLOOR_MS = 1_000;

/** For the plan. */
export function warmUpMsOf(kind: ServerKind | "given"): number {
  return stepsFor(kind).reduce((sum, { ms }) => sum + ms, 0);
}

export async function warmUp(kind: ServerKind | "given", { url, pid }: BenchServer): Promise<void> {
  for (const { driver, ms } of stepsFor(kind)) {
    const loaders = new Loaders("node", true, 1);
    const row = `warm-up-${driver}`;
    try {
      await loaders.prepare({ driver, target: { url, row, keys: [row] }, scenario: WARM_UP, serverPid: pid });
      await loaders.slice(ms, true);
      await loaders.figures();
    } finally {
      loaders.kill();
    }
  }
}

interface Step {
  readonly driver: string;
  readonly ms: number;
}

/** What leads through all that the rows of such a server do. */
function stepsFor(kind: ServerKind | "given"): readonly Step[] {
  if (kind === "floor-workerd") return [{ driver: "relay", ms: FLOOR_MS }];
  if (kind.startsWith("floor-")) return ["relay", "hand-over"].map((driver) => ({ driver, ms: FLOOR_MS }));
  // Over HTTP workerd holds each grant back for 20 ms: it would hardly begin.
  if (kind === "latchkey-workerd") return [{ driver: "ws-raw", ms: OWN_MS }];
  return kind.startsWith("latchkey-") ? ["ws-raw", "http"].map((driver) => ({ driver, ms: OWN_MS })) : [];
}
