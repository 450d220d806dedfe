/** A process of its own that is watched from here: what it prints, when it ends; and that never outlives the tests. */

import { type ChildProcess, spawn } from "node:child_process";
import { afterAll } from "vitest";

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A busy machine takes its time to start a process. */
const PATIENCE_MS = 25_000;
const alive = new Set<ChildProcess>();

// A test that ran out of time never gets to the end of its `await using`.
afterAll(() => {
  for (const child of alive) child.kill("SIGKILL");
});

export class Child implements AsyncDisposable {
  readonly pid: number;
  readonly ended: Promise<Ended>;
  readonly #child: ChildProcess;
  readonly #readers = new Set<(line: string) => void>();
  readonly #watchers = new Set<(ended: Ended) => void>();
  readonly #lines: string[] = [];
  #over: Ended | undefined;
  #rest = "";

  constructor(command: readonly string[], env: Readonly<Record<string, string>> = {}, cwd?: string) {
    const [program = "", ...args] = command;
    const child = spawn(program, args, { env: { ...inherited(), ...env }, ...(cwd === undefined ? {} : { cwd }) });
    if (child.pid === undefined) throw new Error(`${program} cannot be started`);
    alive.add(child);
    this.#child = child;
    this.pid = child.pid;
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding("utf8");
      stream.on("data", (text: string) => this.#read(text));
    }
    // A write to a process that is just ending is of no interest.
    child.stdin.on("error", () => undefined);
    const { promise, resolve } = Promise.withResolvers<Ended>();
    this.ended = promise;
    child.once("close", (code, signal) => {
      alive.delete(child);
      this.#over = { code, signal };
      resolve(this.#over);
      for (const watcher of this.#watchers) watcher(this.#over);
    });
  }

  /** All it has printed so far, on both streams. */
  get output(): string {
    return [...this.#lines, this.#rest].join("\n");
  }

  writeLine(line: string): void {
    this.#child.stdin?.write(`${line}\n`);
  }

  /** Called with every line from now on, and with those that are already there. */
  onLine(reader: (line: string) => void): void {
    for (const line of this.#lines) reader(line);
    this.#readers.add(reader);
  }

  onEnd(watcher: (ended: Ended) => void): void {
    if (this.#over) watcher(this.#over);
    else this.#watchers.add(watcher);
  }

  /** The first match of a pattern in a line, as soon as one is printed. */
  async printed(pattern: RegExp): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const fail = (why: string): void => reject(new Error(`${why} before it printed ${pattern}:\n${this.output}`));
    const timer = setTimeout(() => fail(`${PATIENCE_MS / 1000} s passed`), PATIENCE_MS);
    this.onEnd(({ code }) => fail(`it ended with ${code}`));
    this.onLine((line) => {
      const found = pattern.exec(line)?.[0];
      if (found !== undefined) resolve(found);
    });
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
    }
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  kill(): Promise<Ended> {
    this.signal("SIGKILL");
    return this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      this.#lines.push(line);
      for (const reader of this.#readers) reader(line);
    }
  }
}

/** Only what a program needs to run: the settings of a Latchkey that is at home on this machine must not leak in. */
/** Nothing of what a server is set up by. With Node's compile cache, where there is one, its start costs half. */
function inherited(): Record<string, string> {
  const { PATH = "", HOME = "", TMPDIR, NODE_COMPILE_CACHE } = process.env;
  return {
    PATH,
    HOME,
    ...(TMPDIR !== undefined && { TMPDIR }),
    ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }),
    DENO_NO_UPDATE_CHECK: "1",
    NO_COLOR: "1",
  };
}
