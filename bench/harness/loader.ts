/** A load generator as the harness sees it: a process that is asked one thing at a time. */

import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Figures, Job, Order, Reply, Slice } from "../load/job.ts";
import { onCores } from "../servers/cores.ts";
import { program, type RuntimeName } from "../servers/kinds.ts";
import { inRepository } from "../servers/paths.ts";

/** Above what any order takes: the slowest are thousands of handshakes. */
const PATIENCE_MS = 90_000;

/** How the error of an order begins that took longer. */
export const TOO_LATE = "no answer to";

/** A run starts dozens of load generators: to compile each anew would take half of the time of a quick one. */
const COMPILED = inRepository("bench/out/compiled");

const alive = new Set<ChildProcess>();

process.once("exit", () => {
  for (const child of alive) child.kill("SIGKILL");
});

export class Loader {
  readonly #child: ChildProcess;
  readonly #isQuiet: boolean;
  #answer: ((reply: Reply) => void) | undefined;
  #complaints = "";

  constructor(runtime: RuntimeName, isQuiet: boolean) {
    this.#isQuiet = isQuiet;
    const command = [...program(runtime), inRepository("bench/load/worker.ts")];
    const [binary = "", ...args] = onCores("load", command);
    const child = spawn(binary, args, {
      env: { ...process.env, DENO_NO_UPDATE_CHECK: "1", NO_COLOR: "1", NODE_COMPILE_CACHE: COMPILED },
    });
    this.#child = child;
    alive.add(child);
    createInterface({ input: child.stdout }).on("line", (line) => this.#heard(line));
    child.stderr.on("data", (chunk: Buffer) => {
      this.#complaints = (this.#complaints + chunk.toString()).slice(-1_000);
    });
    child.stdin.on("error", () => undefined);
    child.once("close", () => {
      alive.delete(child);
      this.#answer?.({ ok: false, error: `the load generator ended: ${this.#complaints.trim()}` });
    });
  }

  get pid(): number | undefined {
    return this.#child.pid;
  }

  async prepare(job: Job): Promise<void> {
    await this.#ask({ do: "prepare", job });
    this.#rest();
  }

  async slice(ms: number, isWarmUp: boolean, atNs?: number): Promise<Slice> {
    const { slice } = await this.#ask({ do: "slice", ms, isWarmUp, atNs }, ms);
    this.#rest();
    if (slice === undefined) throw new Error("the load generator gave no slice");
    return slice;
  }

  async figures(): Promise<Figures> {
    const { figures } = await this.#ask({ do: "figures" });
    if (figures === undefined) throw new Error("the load generator gave no figures");
    return figures;
  }

  /** Of the row: the next one can be prepared. */
  async end(): Promise<void> {
    await this.#ask({ do: "end" });
  }

  /** Its connections end with it, and what they hold. */
  kill(): void {
    this.#child.kill("SIGKILL");
  }

  /** Whoever polls would be at it while others are measured. */
  #rest(): void {
    if (!this.#isQuiet) this.#child.kill("SIGSTOP");
  }

  async #ask(order: Order, takesMs = 0): Promise<Extract<Reply, { ok: true }>> {
    if (!this.#isQuiet) this.#child.kill("SIGCONT");
    const reply = await new Promise<Reply>((resolve) => {
      const giveUp = (): void => resolve({ ok: false, error: `${TOO_LATE} ${order.do}` });
      const timer = setTimeout(giveUp, takesMs + PATIENCE_MS);
      this.#answer = (given) => {
        clearTimeout(timer);
        this.#answer = undefined;
        resolve(given);
      };
      this.#child.stdin?.write(`${JSON.stringify(order)}\n`);
    });
    if (!reply.ok) throw new Error(reply.error);
    return reply;
  }

  #heard(line: string): void {
    // Anything else is something that a library had to say.
    if (line.startsWith('{"ok":')) this.#answer?.(JSON.parse(line) as Reply);
  }
}
