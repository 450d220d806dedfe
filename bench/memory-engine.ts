/** Started by memory.ts on each runtime, with a collector that can be called: what stays in memory for each claim, as JSON. */

import process from "node:process";
import { type Command, Machine, Outbox } from "../src/core/index.ts";
import { commandOf } from "../src/host/commands.ts";
import { KeyNames } from "../src/host/keys.ts";
import { createMint } from "../src/host/mint.ts";
import { parseFrames } from "../src/host/codec.ts";

const COUNT = 100_000;
const SESSIONS = 1000;

/** Bytes for each of COUNT. */
export interface EngineBytes {
  readonly waiter: number;
  readonly holder: number;
  readonly holderWithTtl: number;
  readonly remembered: number;
}

type Ask = (index: number) => Command;

const mint = createMint();
const keys = new KeyNames("");
const outbox = new Outbox();

function asker(keyOf: (index: number) => string, more: object = {}): Ask {
  return (index) => {
    const text = JSON.stringify({ t: "acquire", id: `a${index}`, key: keyOf(index), ...more });
    const [frame] = parseFrames(text);
    if (frame?.t !== "acquire") throw new Error(`no acquire: ${text}`);
    return commandOf(frame, sessionOf(index), keys, mint);
  };
}

function sessionOf(index: number): string {
  return `session-${index % SESSIONS}`;
}

function createMachine(): Machine {
  const machine = new Machine({ limits: { endedMax: COUNT } });
  for (let i = 0; i < SESSIONS; i++) {
    step(machine, { kind: "open", session: sessionOf(i), secret: mint.token(), graceMs: 0 });
  }
  return machine;
}

function step(machine: Machine, command: Command): void {
  outbox.clear();
  machine.step(command, performance.now(), outbox);
}

async function grownBy(make: () => unknown): Promise<number> {
  const before = await used();
  const made = make();
  const after = await used();
  keep.push(made);
  keep.length = 0;
  return (after - before) / COUNT;
}

/** What is measured stays reachable while it is. */
const keep: unknown[] = [];

async function filled(ask: Ask, first?: Command): Promise<number> {
  const machine = createMachine();
  if (first !== undefined) step(machine, first);
  return grownBy(() => {
    for (let i = 0; i < COUNT; i++) step(machine, ask(i));
    outbox.effects.length = 0;
    outbox.changes.length = 0;
    return machine;
  });
}

async function remembered(): Promise<number> {
  const machine = createMachine();
  const ask = asker(() => "orders/42");
  return grownBy(() => {
    for (let i = 0; i < COUNT; i++) {
      const command = ask(i);
      if (command.kind !== "acquire") throw new Error("no acquire");
      step(machine, command);
      const { from, key, newToken: token } = command;
      step(machine, { kind: "release", from, request: `r${i}`, key, token });
    }
    outbox.effects.length = 0;
    outbox.changes.length = 0;
    if (machine.counts().remembered !== COUNT) throw new Error("not all are remembered");
    return machine;
  });
}

/** Bytes in use once all that is not has been collected. */
async function used(): Promise<number> {
  const { gc, Bun } = globalThis as { gc?: () => void; Bun?: { gc(force: boolean): void } };
  for (let i = 0; i < 3; i++) {
    gc?.();
    Bun?.gc(true);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  if (Bun === undefined) {
    if (gc === undefined) throw new Error("started without a collector that can be called");
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  }
  const { heapStats } = await import("bun:jsc");
  return heapStats().heapSize;
}

async function main(): Promise<void> {
  const one = asker(() => "orders/42");
  const many = asker((index) => `orders/${index}`);
  const leased = asker((index) => `orders/${index}`, { ttl: 30_000 });
  const bytes: EngineBytes = {
    waiter: await filled(one, asker(() => "orders/42")(COUNT)),
    holder: await filled(many),
    holderWithTtl: await filled(leased),
    remembered: await remembered(),
  };
  console.log(JSON.stringify(bytes));
}

await main();
