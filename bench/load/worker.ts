/** A load generator: a process of its own that does what the harness tells it, a line each, row after row. */

import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { driverOf } from "../drivers/all.ts";
import { median } from "../figures.ts";
import { Crew } from "./crew.ts";
import type { Figures, Job, Order, Reply, Slice } from "./job.ts";
import { untilMachineNs } from "./log.ts";
import { Meter } from "./meter.ts";
import { connectsItself, type Course, courseOf } from "./shapes.ts";
import { orStuck } from "./stuck.ts";

/** Closing thousands of connections, a handshake each. */
const CLOSE_MS_MAX = 5_000;

class Worker {
  readonly #crew: Crew;
  readonly #course: Course;
  readonly #meter = new Meter();

  private constructor(crew: Crew, course: Course) {
    this.#crew = crew;
    this.#course = course;
  }

  static async prepare(job: Job): Promise<Worker> {
    const driver = await driverOf(job.driver);
    const crew = new Crew(job, driver, await driver.open(job.target));
    const course = await watched(crew, async () => {
      if (!connectsItself(crew)) await crew.connect();
      return courseOf(crew);
    });
    return new Worker(crew, course);
  }

  async slice(ms: number, isWarmUp: boolean, atNs: number | undefined): Promise<Slice> {
    const { record, gate, log, opened } = this.#crew;
    opened.wake?.();
    if (atNs !== undefined) await untilMachineNs(atNs);
    record.beginSlice();
    this.#meter.begin(record);
    const before = process.cpuUsage();
    const beganNs = gate.nowNs();
    const againstNs = await this.#orStuck(() => this.#course.turn(ms));
    const cpu = process.cpuUsage(before);
    const windowMs = (gate.nowNs() - beganNs) / 1e6;
    this.#meter.end(record);
    const { cycles } = record;
    // A grant that comes meanwhile does not count: the gate is closed.
    await this.#orStuck(async () => opened.rest?.());
    const { error } = this.#crew;
    if (error !== undefined) throw error;
    const scores = record.scoresOf(this.#crew.scenario.shape);
    if (isWarmUp) {
      record.forgetTimes();
      this.#meter.forget();
      this.#course.forget?.();
    }
    return {
      windowMs,
      cycles,
      scoreNs: scores.length === 0 ? null : median(scores),
      ...(againstNs === undefined ? undefined : { againstNs }),
      loadCpuMs: (cpu.user + cpu.system) / 1000,
      ...this.#course.slice?.(),
      ...(log && { log: log.take() }),
    };
  }

  async figures(): Promise<Figures> {
    const { record, scenario, job } = this.#crew;
    if (this.#crew.error === undefined) await this.#orStuck(async () => this.#course.end?.());
    if (this.#crew.error !== undefined) throw this.#crew.error;
    const isFair = ["cycles", "crash", "drain"].includes(scenario.shape);
    return {
      handOff: record.handOffs.summary(),
      cutHandOff: record.cutHandOffs.summary(),
      wait: record.waits.summary(),
      fairness: isFair ? record.fairness() : null,
      violations: record.violations,
      grants: record.grantCount,
      // What never leaves the process passes no wire, though this process may write a byte to itself.
      bytesPerCycle: scenario.shape === "cycles" && job.target.url !== "" ? this.#meter.bytesPerGrant() : null,
      timeline: record.timeline,
      storm: null,
      reconnect: null,
      sendLateness: null,
      ...this.#course.figures?.(),
    };
  }

  /** Rejects when a connection does not close: the process is of no use for another row then. */
  async end(): Promise<void> {
    const { clients, opened } = this.#crew;
    const closed = Promise.all([this.#course.close?.(), ...clients.map((client) => client.close())]);
    await Promise.race([closed, tooLong()]);
    await opened.close();
  }

  #orStuck<T>(run: () => Promise<T>): Promise<T> {
    return watched(this.#crew, run);
  }
}

/** Rejects when nothing moves any more, and with the first thing that goes wrong: whoever waits for what has ended would do so for ever. */
function watched<T>(crew: Crew, run: () => Promise<T>): Promise<T> {
  return Promise.race([orStuck(run, () => crew.steps), crew.failed]);
}

async function tooLong(): Promise<never> {
  await sleep(CLOSE_MS_MAX, undefined, { ref: false });
  throw new Error("connections did not close");
}

let worker: Worker | undefined;

async function serve(order: Order): Promise<Reply> {
  if (order.do === "prepare") {
    worker = await Worker.prepare(order.job);
    // It would be written at the end, but this process is killed. Only Node has it.
    process.getBuiltinModule("node:module").flushCompileCache?.();
    return { ok: true };
  }
  if (worker === undefined) throw new Error("nothing is prepared");
  if (order.do === "end") {
    await worker.end();
    worker = undefined;
    return { ok: true };
  }
  return order.do === "slice"
    ? { ok: true, slice: await worker.slice(order.ms, order.isWarmUp, order.atNs) }
    : { ok: true, figures: await worker.figures() };
}

for await (const line of createInterface({ input: process.stdin })) {
  const reply = await serve(JSON.parse(line) as Order).catch((error: unknown): Reply => ({
    ok: false,
    error: error instanceof Error ? error.message : String(error),
  }));
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
process.exit();
