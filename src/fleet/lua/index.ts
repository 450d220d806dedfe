/** The script that serves calls: all its parts as one text, which Redis knows by its hash. */

import { ACQUIRE } from "./acquire.ts";
import { ASKING } from "./asking.ts";
import { ATTEMPTS } from "./attempts.ts";
import { DUE } from "./due.ts";
import { ENGINE } from "./engine.ts";
import { HOLDING } from "./holding.ts";
import { IDLE } from "./idle.ts";
import { LEDGER } from "./ledger.ts";
import { LETTERS } from "./letters.ts";
import { MAIN } from "./main.ts";
import { MOVES } from "./moves.ts";
import { READS } from "./reads.ts";
import { REPEATS } from "./repeats.ts";
import { SESSIONS } from "./sessions.ts";
import { SPACE } from "./space.ts";
import { SWEEP } from "./sweep.ts";
import { TABLES } from "./tables.ts";
import { TEXTS, VALUES } from "./values.ts";

/**
 * A name that a part uses is defined in a part before it. Redis runs the whole text anew for every call, and making its functions takes longer
 * than a command does, for two reasons that shape it:
 * - All are made that the text comes by. So what few calls need is made when it is first asked for: a call that has nothing to do makes no engine, an acquire no ledger.
 * - A function looks for each variable of the function around it among those that others use already, one by one, but has those from further
 *   out for nothing. So the parts stand inside one another.
 */
export const SCRIPT: string = [
  VALUES,
  SPACE,
  lazily("engine", [
    TEXTS,
    TABLES,
    LETTERS,
    "return (function()\n",
    MOVES,
    lazily("repeats", [REPEATS, exporting(["repeatAcquire", "reenter"])]),
    lazily("acquiring", [ACQUIRE, exporting([])]),
    lazily("holding", [HOLDING, ASKING, exporting([])]),
    lazily("reads", [READS, exporting([])]),
    lazily("ledger", [
      LEDGER,
      ATTEMPTS,
      exporting(["begunOf", "saveBegun", "saveBegins", "dropBegins", "serveBegunDue"]),
    ]),
    lazily("life", [SESSIONS, SWEEP, exporting(["lose", "sweep"])]),
    lazily("due", [DUE, exporting(["serve"])]),
    lazily("idle", [IDLE, exporting(["expireIfIdle", "awaken"])]),
    ENGINE,
    "end)()\n",
  ]),
  MAIN,
].join("");

/** A function of this name gives what the parts return, which run when it is first called. */
function lazily(name: string, parts: readonly string[]): string {
  const opened = `opened${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  return [
    `\nlocal ${opened}\n\nlocal function ${name}()\n`,
    `if not ${opened} then ${opened} = (function()\n`,
    ...parts,
    `\nend)() end\nreturn ${opened}\nend\n`,
  ].join("");
}

function exporting(names: readonly string[]): string {
  return `\nreturn { ${names.map((name) => `${name} = ${name}`).join(", ")} }\n`;
}
