/** What the clients of a row do in its turns, by the shape of the scenario. */

import { setTimeout as sleep } from "node:timers/promises";
import { median } from "../figures.ts";
import { untilFree } from "../servers/view.ts";
import type { Crew } from "./crew.ts";
import { Cycles } from "./cycles.ts";
import { drain } from "./drain.ts";
import { dropAndRelease, killAndRelease } from "./drop.ts";
import type { Figures, Slice } from "./job.ts";
import { OpenLoop } from "./open.ts";
import { reconnectStorm } from "./reconnect.ts";
import { Soak } from "./soak.ts";
import { storm } from "./storm.ts";
import { Times } from "./summary.ts";
import { Victims } from "./victims.ts";

/** Of the holders in the scenario of crashes. */
const CUT_EVERY = 3;

export interface Course {
  /** Resolves with what the slice is a multiple of, ns, where the shape brings that itself. */
  turn(ms: number): Promise<number | undefined>;
  /** After the last turn: whoever waits has its own. Rejects when somebody does not, or when something is left behind. */
  end?(): Promise<void>;
  /** Frees what the row has beside its clients. */
  close?(): Promise<void>;
  /** Forgets the times so far. */
  forget?(): void;
  slice?(): Partial<Slice>;
  figures?(): Partial<Figures>;
}

/** For shapes whose clients connect as a part of what they do. */
export function connectsItself({ scenario: { shape } }: Crew): boolean {
  return shape === "storm" || shape === "reconnect";
}

export async function courseOf(crew: Crew): Promise<Course> {
  const { shape } = crew.scenario;
  switch (shape) {
    case "cycles":
      return cyclesCourse(crew);
    case "drain":
      return { turn: withoutFloor((ms) => drain(crew, ms)) };
    case "drop":
      return dropCourse(crew);
    case "crash":
      return crashCourse(crew);
    case "storm":
      return stormCourse(crew);
    case "reconnect":
      return reconnectCourse(crew);
    case "open":
      return openCourse(crew);
    case "soak": {
      const soak = await Soak.start(crew);
      return { turn: (ms) => sleep(ms, undefined), end: () => soak.end(), slice: () => ({ soak: soak.slice() }) };
    }
  }
}

function withoutFloor(run: (ms: number) => Promise<void>): Course["turn"] {
  return async (ms) => {
    await run(ms);
    return undefined;
  };
}

function cyclesCourse(crew: Crew): Course {
  const cycles = new Cycles(crew);
  const turn = withoutFloor((ms) => cycles.turn(ms));
  const { keys, quiet } = crew.driver.can;
  // The relay's text would come to those who have gone; whoever polls may have to do so for long.
  return keys && quiet ? { turn, end: () => cycles.end() } : { turn };
}

function crashCourse(crew: Crew): Course {
  const { url, keys } = crew.job.target;
  const cycles = new Cycles(crew, CUT_EVERY);
  return {
    turn: async (ms) => {
      await cycles.turn(ms);
      return median(crew.record.scores);
    },
    end: async () => {
      await cycles.end();
      // Others are only seen from outside: everybody had a turn.
      if (/^(?:http|ws)s?:/.test(url)) for (const key of keys) await untilFree(url, key);
    },
  };
}

function dropCourse(crew: Crew): Course {
  const { cut = "fin" } = crew.scenario;
  if (cut !== "kill") return { turn: (ms) => dropAndRelease(crew, cut, ms) };
  const victims = new Victims(crew.job.driver, crew.job.target);
  return { turn: (ms) => killAndRelease(crew, victims, ms), close: () => victims.close() };
}

function stormCourse(crew: Crew): Course {
  let told: Figures["storm"] = null;
  const turn = async (): Promise<number> => {
    const first = await storm(crew);
    if (!crew.driver.can.keys) {
      told = first;
      return Number.NaN;
    }
    // Memory is that of a server without a past; in the times of a first storm most is the compiling of what closes sockets.
    const { bytesPerSession, bytesPerHolder, bytesPerWaiter } = first;
    crew.clients.length = 0;
    told = {
      ...(await storm(crew)),
      ...(bytesPerSession === undefined ? undefined : { bytesPerSession }),
      ...(bytesPerHolder === undefined ? undefined : { bytesPerHolder }),
      ...(bytesPerWaiter === undefined ? undefined : { bytesPerWaiter }),
    };
    return (told.acquireMs ?? Number.NaN) * 1e6;
  };
  return { turn, figures: () => ({ storm: told }) };
}

function reconnectCourse(crew: Crew): Course {
  let told: Figures["reconnect"] = null;
  const turn = async (): Promise<number> => {
    told = await reconnectStorm(crew);
    return told.firstMs * 1e6;
  };
  return { turn, figures: () => ({ reconnect: told }) };
}

function openCourse(crew: Crew): Course {
  const { arrivals } = crew.scenario;
  if (arrivals === undefined) throw new Error("an open loop needs arrivals");
  const loop = new OpenLoop(crew, arrivals);
  return {
    turn: (ms) => loop.turn(ms),
    forget: () => {
      loop.lateness = new Times();
    },
    figures: () => ({ sendLateness: loop.lateness.summary() }),
  };
}
