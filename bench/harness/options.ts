/** The command line. */

import { parseArgs } from "node:util";
import { type Arrivals, type Choices, fullRun, quickRun, type Run, SOAK } from "../scenarios.ts";
import { type SoakTurns, soakTurns } from "./soak.ts";
import { GIVEN, type Subject, SUBJECTS } from "./subjects.ts";

export interface Options {
  readonly run: Run;
  readonly subjects: readonly Subject[];
  /** Processes that the clients of a row are split over. */
  readonly loaders: number;
  readonly url: string | undefined;
  /** In the place of the scenarios. */
  readonly soak: SoakTurns | undefined;
  /** All subjects in all scenarios, and not those of a run of ten minutes. */
  readonly isAll: boolean;
  /** Nothing is measured, the plan is told. */
  readonly isPlan: boolean;
  readonly compare: readonly [string, string] | undefined;
}

export const USAGE = `npm run bench -- [options]
  --quick              under 90 s, Latchkey alone; what matters is that nothing fails
  --only a,b           scenarios and subjects whose names contain one of the words, all of them with all
  --all                all subjects in all scenarios: about 20 minutes
  --plan               what would be done and for how long, and nothing more
  --rounds n           turns each, default 3
  --slice ms           the length of a turn, default 300 and at most 300
  --loaders n          processes that the clients of a row are split over, default 1
  --sessions n         sessions that a drop storm (default 10000) and a reconnect storm (5000) cut
  --rate n             arrivals a second in the open loop, default 50 % and 80 % of what a closed loop does
  --arrivals kind      poisson (default) or fixed
  --soak               a mixed load on all three runtimes, with memory and the drift of timers, for
  --duration 1h        as long as this: 90s, 10m, 8h
  --url wss://…        measure a server that runs somewhere, in the place of our own; its API key, if it asks for one, is taken from
                       BENCH_CREDENTIAL in the environment
  --compare old new    two files of bench/out, row by row`;

const SLICE_MS_MAX = 300;
const DURATION_DEFAULT = "10m";

/** Throws an Error that says what was expected. */
export function readOptions(args: readonly string[]): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: "boolean", default: false },
      only: { type: "string", default: "" },
      all: { type: "boolean", default: false },
      plan: { type: "boolean", default: false },
      rounds: { type: "string" },
      slice: { type: "string" },
      sessions: { type: "string" },
      loaders: { type: "string" },
      rate: { type: "string" },
      arrivals: { type: "string", default: "poisson" },
      soak: { type: "boolean", default: false },
      duration: { type: "string" },
      url: { type: "string" },
      compare: { type: "string" },
    },
  });
  const choices: Choices = {
    sessions: whole("sessions", values.sessions),
    arrivals: arrivalsOf(values.arrivals),
    ratePerSecond: whole("rate", values.rate),
  };
  const run = values.soak ? SOAK_RUN : values.quick ? quickRun(choices) : fullRun(choices);
  if (!values.soak && values.duration !== undefined) throw new Error("--duration belongs to --soak");
  const everybody = values.url === undefined ? SUBJECTS : [GIVEN];
  const words = values.only.split(",").filter((word) => word !== "");
  const candidates =
    (values.quick || values.soak) && words.length === 0 ? everybody.filter(({ isQuick }) => isQuick) : everybody;
  const [other] = positionals;
  if ((values.compare === undefined) !== (other === undefined)) throw new Error("--compare needs two files");
  return {
    run: {
      scenarios: chosen(run.scenarios, words),
      isWarm: run.isWarm,
      rounds: whole("rounds", values.rounds) ?? run.rounds,
      sliceMs: Math.min(SLICE_MS_MAX, whole("slice", values.slice) ?? run.sliceMs),
    },
    subjects: chosen(candidates, mustMatch(words, [...run.scenarios, ...everybody])),
    isAll: values.all || values.quick || words.length > 0 || values.url !== undefined,
    isPlan: values.plan,
    loaders: whole("loaders", values.loaders) ?? 1,
    url: values.url,
    soak: values.soak ? soakTurns(milliseconds(values.duration ?? DURATION_DEFAULT)) : undefined,
    compare: values.compare === undefined || other === undefined ? undefined : [values.compare, other],
  };
}

/** Those that a word names; all, when no word names any. */
function chosen<T extends { readonly name: string }>(all: readonly T[], words: readonly string[]): readonly T[] {
  const named = all.filter(({ name }) => words.some((word) => name.includes(word)));
  return named.length === 0 ? all : named;
}

function mustMatch(words: readonly string[], all: readonly { readonly name: string }[]): readonly string[] {
  const unknown = words.find((word) => !all.some(({ name }) => name.includes(word)));
  if (unknown === undefined) return words;
  throw new Error(`--only ${unknown} names nothing. There are: ${all.map(({ name }) => name).join("; ")}`);
}

const SOAK_RUN: Run = { scenarios: [SOAK], isWarm: false, rounds: 1, sliceMs: 0 };

function arrivalsOf(text: string): Arrivals["kind"] {
  if (text === "poisson" || text === "fixed") return text;
  throw new Error("--arrivals must be poisson or fixed");
}

function milliseconds(text: string): number {
  const [, count = "", unit = ""] = /^(\d+)([smh])$/.exec(text) ?? [];
  const ms = Number(count) * ({ s: 1_000, m: 60_000, h: 3_600_000 }[unit] ?? 0);
  if (ms > 0) return ms;
  throw new Error("--duration must be like 90s, 10m or 8h");
}

function whole(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new Error(`--${name} must be a whole number from 1`);
}
