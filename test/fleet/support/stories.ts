/** What the simulation asks an engine, and what the engine tells, as stories that can be told to Redis. */

import type { Command, Effect } from "../../../src/core/index.ts";
import type { FleetSettings } from "../../../src/fleet/script.ts";
import { drawOptions, type WorldOptions } from "../../simulation/options.ts";
import { show } from "../../simulation/equal.ts";
import { simulate } from "../../simulation/world.ts";

const RECENT_MAX = 24;

/** What was asked and what the engine told. */
export interface Step {
  readonly command: Command;
  readonly now: number;
  readonly effects: readonly Effect[];
  /** The keys that it changed; none where nobody watches. */
  readonly touched: ReadonlySet<string>;
}

export interface Story {
  readonly options: WorldOptions;
  /** Processes live for ever here: a story has none. */
  readonly settings: FleetSettings;
  readonly startedAt: number;
  readonly steps: readonly Step[];
}

export function writeStory(seed: number, stepsMax: number): Story {
  const options = optionsOf(seed, stepsMax);
  const settings: FleetSettings = {
    leaseMs: 1e12,
    serialStart: 0,
    quarantineMs: options.quarantineMs,
    limits: { ...options.limits, ...options.ledgerLimits },
  };
  const steps: Step[] = [];
  let startedAt = 0;
  simulate(options, (command, now, effects, touched) => {
    if (command === undefined) startedAt = now;
    else steps.push({ command, now, effects, touched });
  });
  return { options, settings, startedAt, steps };
}

/** What was expected and what came, the steps that led there, and how to see it again. */
export function describeFailure(
  { options, steps }: Story,
  stepCount: number,
  file: string,
  came: { readonly engine: unknown; readonly script: unknown },
): string {
  const { seed } = options;
  return [
    `seed ${seed}, step ${stepCount}: the script's effects are not the engine's`,
    `engine: ${show(came.engine)}`,
    `script: ${show(came.script)}`,
    "the latest steps:",
    ...steps
      .slice(Math.max(0, stepCount - RECENT_MAX), stepCount)
      .map(({ command, now }) => `  at ${now}: ${show(command)}`),
    `options: ${show(options)}`,
    `again: SEED=${seed} npx vitest run test/fleet/${file}`,
  ].join("\n");
}

/** Worlds without what Redis has no counterpart of: an engine that is killed, and a store that cannot say what it has. */
function optionsOf(seed: number, stepsMax: number): WorldOptions {
  const drawn = drawOptions(seed, stepsMax);
  return {
    ...drawn,
    deeds: { ...drawn.deeds, crashBeforeCommit: 0, crashBeforeDelivery: 0 },
    ledgerDeeds: { ...drawn.ledgerDeeds, crash: 0 },
    recordsMax: Infinity,
    unreadable: 0,
  };
}
