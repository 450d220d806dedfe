/** A load generator: a process of its own that does what the harness tells it, a line each. */

import { createInterface } from "node:readline";
import { driverOf } from "../drivers/all.ts";
import { median } from "../figures.ts";
import { Crew } from "./crew.ts";
import { startCycles } from "./cycles.ts";
import { drain } from "./drain.ts";
import { dropAndRelease } from "./drop.ts";
import { untilMachineNs } from "./log.ts";
import type { Figures, Job, Order, Reply, Slice, Storm } from "./job.ts";
import { storm } from "./storm.ts";

class Worker {
  readonly #crew: Crew;
  readonly #turn: (ms: number) => Promise<number | undefined>;
  #storm: Storm | undefined;

  private constructor(crew: Crew) {
    this.#crew = crew;
    this.#turn = this.#turnOf(crew);
  }

  static async prepare(job: Job): Promise<Worker> {
    const driver = await driverOf(job.driver);
    const crew = new Crew(job, driver, await driver.open(job.target));
    // How long connecting takes is part of what a storm does.
    if (job.scenario.shape !== "storm") await crew.connect();
    return new Worker(crew);
  }

  async slice(ms: number, isWarmUp: boolean, atNs: number | undefined): Promise<Slice> {
    const { record, gate, log } = this.#crew;
    if (atNs !== undefined) await untilMachineNs(atNs);
    record.beginSlice();
    const before = process.cpuUsage();
    const beganNs = gate.nowNs();
    const againstNs = await this.#turn(ms);
    const cpu = process.cpuUsage(before);
    const windowMs = (gate.nowNs() - beganNs) / 1e6;
    const { error } = this.#crew;
    if (error !== undefined) throw error;
    const { cycles } = record;
    const scores = record.passes.length > 0 ? record.passes : record.scores;
    if (isWarmUp) record.forgetTimes();
    return {
      windowMs,
      cycles,
      scoreNs: scores.length === 0 ? null : median(scores),
      ...(againstNs === undefined ? undefined : { againstNs }),
      loadCpuMs: (cpu.user + cpu.system) / 1000,
      ...(log && { log: log.take() }),
    };
  }

  figures(): Figures {
    const { record, clients, scenario, error } = this.#crew;
    if (error !== undefined) throw error;
    const bytes = clients.reduce((sum, client) => sum + (client.bytes ?? 0), 0);
    return {
      handOff: record.handOffs.summary(),
      wait: record.waits.summary(),
      fairness: scenario.shape === "cycles" ? record.fairness() : null,
      violations: record.violations,
      bytesPerCycle: bytes === 0 || scenario.shape !== "cycles" ? null : bytes / record.grantCount,
      timeline: record.timeline,
      storm: this.#storm ?? null,
    };
  }

  #turnOf(crew: Crew): (ms: number) => Promise<number | undefined> {
    switch (crew.scenario.shape) {
      case "cycles": {
        const run = startCycles(crew);
        return async (ms) => {
          await run(ms);
          return undefined;
        };
      }
      case "drain":
        return async (ms) => {
          await drain(crew, ms);
          return undefined;
        };
      case "drop":
        return (ms) => dropAndRelease(crew, ms);
      case "storm":
        return async () => {
          this.#storm = await storm(crew);
          return (this.#storm.acquireMs ?? Number.NaN) * 1e6;
        };
    }
  }
}

let worker: Worker | undefined;

async function serve(order: Order): Promise<Reply> {
  if (order.do === "prepare") {
    worker = await Worker.prepare(order.job);
    return { ok: true };
  }
  if (worker === undefined) throw new Error("nothing is prepared");
  return order.do === "slice"
    ? { ok: true, slice: await worker.slice(order.ms, order.isWarmUp, order.atNs) }
    : { ok: true, figures: worker.figures() };
}

for await (const line of createInterface({ input: process.stdin })) {
  const reply = await serve(JSON.parse(line) as Order).catch((error: unknown): Reply => ({
    ok: false,
    error: error instanceof Error ? error.message : String(error),
  }));
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
process.exit();
