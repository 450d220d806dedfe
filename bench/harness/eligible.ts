/** Whether a subject can do what a scenario is about. */

import { driverOf } from "../drivers/all.ts";
import type { Capabilities } from "../drivers/driver.ts";
import type { Scenario, Shape } from "../scenarios.ts";
import { openFilesMax } from "../servers/proc.ts";
import type { Subject } from "./subjects.ts";

const DROPPING: ReadonlySet<Shape> = new Set<Shape>(["drop", "crash", "storm", "reconnect", "soak"]);
const TOLD: ReadonlySet<Shape> = new Set<Shape>(["storm", "reconnect", "soak"]);

/** What a server has open beside its clients' sockets, and sessions beside those of a storm that wait for them. */
const FILES = 200;

/**
 * Why not; undefined if it can. Empty: it makes no sense, and nobody has to hear of it. `filesMax`: how many files a process may
 * have open; workerd opens two for each socket.
 */
export async function whyNot(
  { shape, readers, limit, keys, clients, cut }: Scenario,
  { driver, server, clientsMax: ownMax = Number.POSITIVE_INFINITY }: Subject,
  filesMax: number = openFilesMax() ?? Number.POSITIVE_INFINITY,
): Promise<string | undefined> {
  const { can }: { readonly can: Capabilities } = await driverOf(driver);
  if (DROPPING.has(shape) && !can.drop) return "";
  // Only our own servers tell what is left of those who were cut, and only our own frames can be followed by a reset.
  const isOwn = /^(?:latchkey-|given$)/.test(server ?? "");
  if ((TOLD.has(shape) || cut === "frame" || cut === "rst") && !isOwn) return "";
  // Whoever polls is late by its own pause; what has no server has no queue outside of this process.
  if (shape === "open" && (!can.quiet || server === undefined)) return "";
  if (readers > 0 && !can.shared) return "";
  if (limit !== undefined && !can.limit) return "";
  if (keys !== "hot" && !can.keys) return "";
  const clientsMax = Math.min(can.clientsMax, ownMax);
  if (clients > clientsMax) return `at most ${clientsMax} clients`;
  const files = server === undefined ? 0 : FILES + clients * (server === "latchkey-workerd" ? 2 : 1);
  return files > filesMax ? `it needs ${files} open files, and a process here may have ${filesMax}` : undefined;
}
