import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Command } from "../../src/core/index.ts";
import type { FleetAnswer, FleetEffect } from "../../src/fleet/script.ts";
import { isEqual } from "../simulation/equal.ts";
import { hasRedisServer, type RedisServer, startRedisServer } from "./support/redis-server.ts";
import { openRunner, type ScriptRunner } from "./support/script-runner.ts";
import { describeFailure, type Story, writeStory } from "./support/stories.ts";
import { PROCESSES, type ProcessName, route } from "./support/three-processes.ts";

const SEEDS = 30;
const STEPS = 500;
const BATCH = 10;

const { SEED } = process.env;
const firsts = SEED === undefined ? Array.from({ length: SEEDS / BATCH }, (_, i) => 1001 + i * BATCH) : [Number(SEED)];

describe.skipIf(!hasRedisServer())("what the engine tells reaches the process that it is for, once, in order", () => {
  let server: RedisServer | undefined;
  let runner: ScriptRunner;

  beforeAll(async () => {
    server = await startRedisServer();
    runner = await openRunner(server.url);
  });

  afterAll(async () => {
    (runner as ScriptRunner | undefined)?.close();
    await server?.stop();
  });

  it.each(firsts)(`${SEED === undefined ? BATCH : 1} seeds from %i`, async (first) => {
    for (let seed = first; seed < first + (SEED === undefined ? BATCH : 1); seed++) await tell(runner, seed);
  });
});

/** What one process has heard and what it should have, and where it stands. */
interface Listener {
  readonly name: ProcessName;
  readonly heard: FleetEffect[];
  readonly expected: FleetEffect[];
  batch: number;
  read: number;
}

async function tell(runner: ScriptRunner, seed: number): Promise<void> {
  const story = writeStory(seed, STEPS);
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
  expect(published.size).toBeGreaterThan(0);
  for (const [name, effects] of published) expect(heardInMail.get(name)).toEqual(effects);
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
