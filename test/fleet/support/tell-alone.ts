/** A story told to the script by one process, and what is left of it when all is over. */

import type { Command } from "../../../src/core/index.ts";
import { type FleetAnswer, spaceKey } from "../../../src/fleet/script.ts";
import { isEqual } from "../../simulation/equal.ts";
import { PREFIX, type ScriptRunner } from "./script-runner.ts";
import { describeFailure, type Step, type Story } from "./stories.ts";

const WINDOW = 16;
/** Every other story is told in calls of so many commands, where they are of the same time. */
const COMMANDS_MAX = 6;

/** Throws at the first effect that is not the engine's. */
export async function tellAlone(runner: ScriptRunner, story: Story): Promise<void> {
  const { options, steps } = story;
  const space = `seed-${options.seed}`;
  const calls = inCalls(steps, options.seed % 2 === 0 ? 1 : COMMANDS_MAX);
  const published: (readonly string[])[] = [];
  const stop = await runner.watch(space, ({ keys }) => void published.push([...(keys ?? [])].toSorted()));
  try {
    await tellCalls(runner, story, space, calls);
  } finally {
    await stop();
  }
  // One message for each call that changed something, with all that it changed.
  const touched = calls.map((call) => [...new Set(call.flatMap((step) => [...step.touched]))].toSorted());
  const engine = { touched: touched.filter((keys) => keys.length > 0), left: [] };
  const script = { touched: published, left: await leftovers(runner, space, steps.at(-1)?.now ?? 0) };
  if (!isEqual(engine, script)) {
    throw new Error(describeFailure(story, steps.length, "oracle.test.ts", { engine, script }));
  }
}

async function tellCalls(
  runner: ScriptRunner,
  story: Story,
  space: string,
  calls: readonly (readonly Step[])[],
): Promise<void> {
  const { options, settings, startedAt } = story;
  const watch = options.isWatched ? ({ watch: true } as const) : undefined;
  const join = { channel: "wake" };
  let batch = 0;
  let read = 0;
  const run = async (now: number, commands: readonly Command[]): Promise<FleetAnswer> =>
    runner.run({ space, process: "one", batch: ++batch, read, join, now, settings, ...watch, commands });

  await run(startedAt, []);
  let stepCount = 0;
  for (let from = 0; from < calls.length; from += WINDOW) {
    // These do not wait for each other: each is told again what those before it in the window were told.
    const window = calls.slice(from, from + WINDOW);
    const commands = (call: readonly Step[]): readonly Command[] => call.map(({ command }) => command);
    const answers = await Promise.all(window.map((call) => run(call[0]?.now ?? 0, commands(call))));
    for (const [i, { letters }] of answers.entries()) {
      const told = letters.filter(({ number }) => number > read).flatMap(({ effects }) => effects);
      const expected = window[i]?.flatMap(({ effects }) => effects) ?? [];
      read = letters.at(-1)?.number ?? read;
      stepCount += window[i]?.length ?? 0;
      if (isEqual(expected, told)) continue;
      throw new Error(describeFailure(story, stepCount, "oracle.test.ts", { engine: expected, script: told }));
    }
  }
}

function inCalls(steps: readonly Step[], countMax: number): readonly (readonly Step[])[] {
  const calls: Step[][] = [];
  for (const step of steps) {
    const call = calls.at(-1);
    if (call !== undefined && call.length < countMax && call[0]?.now === step.now) call.push(step);
    else calls.push([step]);
  }
  return calls;
}

/** What is left of a space when all is over and forgotten, but for its own numbers and its process. */
async function leftovers(runner: ScriptRunner, space: string, now: number): Promise<readonly string[]> {
  const key = spaceKey(PREFIX, space);
  const bye = { space, process: "two", batch: 1, read: 0, join: { channel: "wake" }, now, commands: [] } as const;
  await runner.run({ ...bye, leave: true });
  const names = (await runner.send("KEYS", `${key}*`)) as readonly string[];
  await runner.send("UNLINK", ...names);
  const expected = [key, `${key}:processes`, `${key}:p:one`, `${key}:mail:one`];
  return names.filter((name) => !expected.includes(name) && !name.startsWith(`${key}:re`));
}
