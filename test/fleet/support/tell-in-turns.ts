/** A story told to the script by three processes, and what each of them hears of it. */

import type { Command } from "../../../src/core/index.ts";
import type { FleetAnswer, FleetEffect } from "../../../src/fleet/script.ts";
import { isEqual } from "../../simulation/equal.ts";
import type { ScriptRunner } from "./script-runner.ts";
import { describeFailure, type Story } from "./stories.ts";
import { PROCESSES, type ProcessName, route } from "./three-processes.ts";

/** What one process has heard and what it should have, and where it stands. */
interface Listener {
  readonly name: ProcessName;
  readonly heard: FleetEffect[];
  readonly expected: FleetEffect[];
  batch: number;
  read: number;
}

/** Throws at the first effect that does not reach the process that it is for, in its order. */
export async function tellInTurns(runner: ScriptRunner, story: Story): Promise<void> {
  const { seed } = story.options;
  const listeners = PROCESSES.map((name): Listener => ({ name, heard: [], expected: [], batch: 0, read: 0 }));
  const published = new Map<string, readonly FleetEffect[]>();
  const stopListening = await runner.subscribe(`wake-${seed}`, ({ process, letter }) => {
    if (letter !== undefined) published.set(`${process} ${letter.number}`, letter.effects);
  });
  const heardInMail = new Map<string, readonly FleetEffect[]>();
  const call = async (listener: Listener, now: number, commands: readonly Command[]): Promise<void> => {
    const answer = await ask(runner, story, listener, now, commands);
    // The latest may be the answer's own, which is not published; every other one was caused by another process.
    for (const { number, effects } of answer.letters) {
      if (number <= listener.read) continue;
      listener.heard.push(...effects);
      heardInMail.set(`${listener.name} ${number}`, effects);
    }
    listener.read = answer.letters.at(-1)?.number ?? listener.read;
  };

  try {
    for (const listener of listeners) await call(listener, story.startedAt, []);
    for (const [i, { step, process, told }] of route(story).entries()) {
      for (const { process: hearer, effect } of told) listenerOf(listeners, hearer).expected.push(effect);
      const listener = listenerOf(listeners, process);
      await call(listener, step.now, [step.command]);
      compare(story, i + 1, listener);
    }
    for (const listener of listeners) {
      await call(listener, story.steps.at(-1)?.now ?? 0, []);
      compare(story, story.steps.length, listener);
    }
  } finally {
    await stopListening();
  }
  const mailed = [...published.keys()].map((name) => heardInMail.get(name));
  if (published.size > 0 && isEqual(mailed, [...published.values()])) return;
  throw new Error(
    describeFailure(story, story.steps.length, "processes.test.ts", { engine: mailed, script: published }),
  );
}

function ask(
  runner: ScriptRunner,
  { settings, options }: Story,
  listener: Listener,
  now: number,
  commands: readonly Command[],
): Promise<FleetAnswer> {
  const { name, read } = listener;
  const join = { channel: `wake-${options.seed}` };
  const space = `routes-${options.seed}`;
  return runner.run({ space, process: name, batch: ++listener.batch, read, join, now, settings, commands });
}

function compare(story: Story, stepCount: number, { heard, expected }: Listener): void {
  const from = Math.max(0, Math.min(heard.length, expected.length) - 50);
  if (isEqual(heard.slice(from), expected.slice(from))) return;
  const at = heard.findIndex((effect, i) => !isEqual(effect, expected[i]));
  const came = { engine: expected.slice(at === -1 ? from : at), script: heard.slice(at === -1 ? from : at) };
  throw new Error(describeFailure(story, stepCount, "processes.test.ts", came));
}

function listenerOf(listeners: readonly Listener[], name: ProcessName): Listener {
  const found = listeners.find((listener) => listener.name === name);
  if (found === undefined) throw new Error(`there is no process ${name}`);
  return found;
}
