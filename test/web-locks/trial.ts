/**
 * What a case of the Web Locks suite is, and what it is given. Nothing here knows a test runner or a runtime: the same cases run
 * under vitest, in a page, and against the platform's own `navigator.locks`.
 */

import { check } from "./check.ts";

/** A LockManager, ours or the platform's. Its arguments are whatever a case wants to try. */
export interface Manager {
  request(...args: unknown[]): Promise<unknown>;
  query(): Promise<Snapshot>;
}

export interface Snapshot {
  readonly held: readonly Entry[];
  readonly pending: readonly Entry[];
}

export interface Entry {
  readonly name: string;
  readonly mode: string;
  readonly clientId: string;
}

export interface GrantedLock {
  readonly name: string;
  readonly mode: string;
  /** These three are Latchkey's own. */
  readonly signal?: AbortSignal;
  readonly fence?: number;
  readonly token?: string;
}

/**
 * What only some managers have: `sessions`: the three managers are three clients, each with an id of its own. `end`: one of them
 * can be ended, as by closing its tab. `lock`: locks have signal, fence and token, and a loss has a cause.
 */
export type Need = "sessions" | "end" | "lock";

export interface Case {
  /** The rule. */
  readonly name: string;
  readonly needs?: readonly Need[];
  readonly run: (t: Trial) => Promise<void>;
}

/** Three managers of one space; where there is only one, three times the same. */
export interface Managers {
  readonly all: readonly [Manager, Manager, Manager];
  /** Ends the session of one. */
  readonly end?: (manager: Manager) => Promise<void>;
}

const CASE_MS = 10_000;
let names = 0;

/** Rejects when the case fails, or does not come to an end in time. Whatever it holds is let go. */
export async function runCase(one: Case, managers: Managers, timeMs: number = CASE_MS): Promise<void> {
  const trial = new Trial(managers);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("the case did not come to an end")), timeMs);
  });
  try {
    await Promise.race([one.run(trial), late]);
  } finally {
    clearTimeout(timer);
    trial.letGo();
  }
}

export class Trial {
  readonly locks: Manager;
  readonly second: Manager;
  readonly third: Manager;
  readonly #managers: Managers;
  readonly #holdings: Holding[] = [];
  readonly #controllers: AbortController[] = [];

  constructor(managers: Managers) {
    this.#managers = managers;
    [this.locks, this.second, this.third] = managers.all;
  }

  /** A name that no other case uses. */
  name(label = "name"): string {
    names += 1;
    return `${label} ${names} ${Math.random().toString(36).slice(2)}`;
  }

  controller(): AbortController {
    const controller = new AbortController();
    this.#controllers.push(controller);
    return controller;
  }

  /** A request whose lock is held until it is let go here. */
  hold(name: string, options: object = {}, locks: Manager = this.locks): Holding {
    const holding = new Holding(name, options, locks);
    this.#holdings.push(holding);
    return holding;
  }

  /** The same, and it is granted. */
  async held(name: string, options: object = {}, locks: Manager = this.locks): Promise<Holding> {
    const holding = this.hold(name, options, locks);
    await holding.granted;
    return holding;
  }

  /** Everything that was asked before has reached the locks, and whatever they say to it has been heard. */
  async turn(): Promise<void> {
    for (let times = 0; times < 2; times++) {
      for (const locks of new Set(this.#managers.all)) await locks.request(this.name("turn"), () => undefined);
    }
  }

  /** The modes of those that hold the name and of those that wait for it, in order. */
  async seen(name: string, locks: Manager = this.locks): Promise<{ held: string[]; pending: string[] }> {
    const { held, pending } = await locks.query();
    const modes = (entries: readonly Entry[]): string[] =>
      entries.filter((entry) => entry.name === name).map(({ mode }) => mode);
    return { held: modes(held), pending: modes(pending) };
  }

  /** Whether nobody holds the name or waits for it, so that a lock could be had at once. */
  async isFree(name: string, locks: Manager = this.locks): Promise<boolean> {
    return (await locks.request(name, { ifAvailable: true }, (lock: GrantedLock | null) => lock !== null)) as boolean;
  }

  async end(manager: Manager): Promise<void> {
    check(this.#managers.end !== undefined, "sessions can be ended");
    await this.#managers.end(manager);
  }

  letGo(): void {
    for (const controller of this.#controllers) controller.abort();
    for (const holding of this.#holdings) holding.release(undefined);
  }
}

export class Holding {
  /** Of the request. */
  readonly result: Promise<unknown>;
  readonly granted: Promise<GrantedLock>;
  isGranted = false;
  isSettled = false;
  #release!: (value: unknown) => void;

  constructor(name: string, options: object, locks: Manager) {
    const released = new Promise((resolve) => {
      this.#release = resolve;
    });
    let grant!: (lock: GrantedLock) => void;
    const called = new Promise<GrantedLock>((resolve) => {
      grant = resolve;
    });
    this.result = locks.request(name, options, (lock: GrantedLock) => {
      this.isGranted = true;
      grant(lock);
      return released;
    });
    const settled = (): void => {
      this.isSettled = true;
    };
    this.result.then(settled, settled);
    this.granted = Promise.race([called, this.result.then(() => called)]);
    // Nobody has to look at it.
    this.granted.catch(() => undefined);
  }

  /** The callback's promise settles with this. */
  release(value: unknown): void {
    this.#release(value);
  }

  /** The same, and the request has settled. */
  async done(value?: unknown): Promise<unknown> {
    this.release(value);
    return this.result;
  }
}
