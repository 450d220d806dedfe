/** Whether the engine's stories give a bug in the script away. */

import { SCRIPT } from "../../../src/fleet/lua/index.ts";
import { openRunner, type ScriptRunner } from "../support/script-runner.ts";
import { type Story, writeStory } from "../support/stories.ts";
import { tellAlone } from "../support/tell-alone.ts";
import { tellInTurns } from "../support/tell-in-turns.ts";
import { CLAIM_MUTANTS } from "./claims.ts";
import { MAIL_MUTANTS } from "./mail.ts";
import type { LuaMutant } from "./mutant.ts";
import { RECORD_MUTANTS } from "./records.ts";
import { SESSION_MUTANTS } from "./sessions.ts";

export const LUA_MUTANTS: readonly LuaMutant[] = [
  ...CLAIM_MUTANTS,
  ...SESSION_MUTANTS,
  ...RECORD_MUTANTS,
  ...MAIL_MUTANTS,
];

const STORIES = 120;
const STEPS = 400;

/** Tells the stories, each alone and in turns. One Redis for all scripts, one after the other. */
export class Judge {
  readonly #url: string;
  /** Writing them takes longer than telling them. */
  readonly #stories: Story[] = [];

  constructor(url: string) {
    this.#url = url;
  }

  /** What was noticed first, or undefined. Without a mutant the script is judged as it is. */
  async judge(mutant: LuaMutant | undefined): Promise<string | undefined> {
    const runner = await openRunner(this.#url, scriptWith(mutant));
    try {
      const seeds = Array.from({ length: STORIES }, (_, i) => i + 1);
      for (const seed of [...(mutant?.seed === undefined ? [] : [mutant.seed]), ...seeds]) {
        const noticed = await this.#tell(runner, this.#story(seed));
        await runner.send("FLUSHALL");
        if (noticed !== undefined) return noticed;
      }
      return undefined;
    } finally {
      runner.close();
    }
  }

  async #tell(runner: ScriptRunner, story: Story): Promise<string | undefined> {
    try {
      await tellAlone(runner, story);
      await tellInTurns(runner, story);
      return undefined;
    } catch (error) {
      const { message } = error as Error;
      // A script that breaks off says so itself.
      if (!/^seed \d+, step|user_script/.test(message)) throw error;
      return message.split("\n")[0];
    }
  }

  #story(seed: number): Story {
    return (this.#stories[seed] ??= writeStory(seed, STEPS));
  }
}

/** Throws when the text that a mutant wants to change is not there, or not once: the list is stale. */
export function scriptWith(mutant: LuaMutant | undefined): string {
  if (mutant === undefined) return SCRIPT;
  const { bug, find, replace } = mutant;
  const count = SCRIPT.split(find).length - 1;
  if (count !== 1) throw new Error(`"${bug}": its text occurs ${count} times in the script, not once:\n${find}`);
  return SCRIPT.replace(find, () => replace);
}
