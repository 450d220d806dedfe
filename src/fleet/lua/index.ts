/** The script that serves calls: all its parts as one text, which Redis knows by its hash. */

import { ACQUIRE } from "./acquire.ts";
import { ASKING } from "./asking.ts";
import { ATTEMPTS } from "./attempts.ts";
import { DUE } from "./due.ts";
import { HOLDING } from "./holding.ts";
import { IDLE } from "./idle.ts";
import { LEDGER } from "./ledger.ts";
import { LETTERS } from "./letters.ts";
import { MAIN } from "./main.ts";
import { MOVES } from "./moves.ts";
import { READS } from "./reads.ts";
import { SESSIONS } from "./sessions.ts";
import { SWEEP } from "./sweep.ts";
import { TABLES } from "./tables.ts";
import { VALUES } from "./values.ts";

/** A name that a part uses is defined in a part before it. */
export const SCRIPT: string = [
  VALUES,
  TABLES,
  LETTERS,
  MOVES,
  ACQUIRE,
  HOLDING,
  lazily("asking", [ASKING], []),
  lazily("reads", [READS], []),
  lazily("ledger", [LEDGER, ATTEMPTS], ["begunOf", "saveBegun", "saveBegins", "dropBegins", "serveBegunDue"]),
  lazily("life", [SESSIONS, SWEEP], ["lose", "sweep"]),
  DUE,
  lazily("idle", [IDLE], ["expireIfIdle", "awaken"]),
  MAIN,
].join("");

/**
 * Redis runs the whole text anew for every call, and making its functions takes longer than a command does: what few calls need is
 * made when it is first asked for.
 */
function lazily(name: string, parts: readonly string[], exported: readonly string[]): string {
  const opened = `opened${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  const table = exported.map((each) => `${each} = ${each}`).join(", ");
  return [
    `\nlocal ${opened}\n\nlocal function ${name}()\n  if ${opened} then return ${opened} end\n`,
    ...parts,
    `\n  ${opened} = { ${table} }\n  return ${opened}\nend\n`,
  ].join("");
}
