/** The script that serves calls: all its parts as one text, which Redis knows by its hash. */

import { ACQUIRE } from "./acquire.ts";
import { ATTEMPTS } from "./attempts.ts";
import { DUE } from "./due.ts";
import { HOLDING } from "./holding.ts";
import { LEDGER } from "./ledger.ts";
import { LETTERS } from "./letters.ts";
import { MAIN } from "./main.ts";
import { MOVES } from "./moves.ts";
import { SESSIONS } from "./sessions.ts";
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
  SESSIONS,
  LEDGER,
  ATTEMPTS,
  DUE,
  MAIN,
].join("");
