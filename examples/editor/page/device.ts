/**
 * The machine that a person sits at, as far as it can go wrong: its network can be cut, and its page can be frozen as a browser
 * freezes a tab: no script runs, while packets that have left are on their way. Each pane has one, and everything that the pane
 * does with sockets, timers and fetch goes through it.
 */

import type { connect, WebSocketConstructor } from "latchkey/client";
import { socketOn } from "./device-socket.ts";

type Ports = NonNullable<Parameters<typeof connect>[2]>;

export type DeviceStatus = "on" | "cut" | "frozen";

/** Until the server has said how long it is: a session that was silent for so long is ended. */
const DEADLINE_DEFAULT_MS = 15_000;

export class Device {
  readonly WebSocket: WebSocketConstructor;
  readonly ports: Ports;
  readonly #onChange: () => void;
  readonly #cuts = new Set<() => void>();
  /** What waits for the thaw, in order. */
  #held: (() => unknown)[] = [];
  #status: DeviceStatus = "on";
  #endsAt = 0;
  #heardAt = 0;
  #deadlineMs = DEADLINE_DEFAULT_MS;

  constructor(onChange: () => void) {
    this.#onChange = onChange;
    this.WebSocket = socketOn({
      isCut: () => this.#status === "cut",
      cuts: this.#cuts,
      run: (work) => this.run(work),
      sent: () => {
        this.#heardAt = Date.now();
      },
      received: (text) => {
        const deadline = /"t":"welcome".*"deadline":(\d+)/.exec(text)?.[1];
        if (deadline !== undefined) this.#deadlineMs = Number(deadline);
      },
    });
    this.ports = {
      mono: () => performance.now(),
      wall: () => Date.now(),
      random: () => Math.random(),
      afterTurn: (run) => queueMicrotask(run),
      timer: (ms, run) => this.timer(ms, run),
    };
  }

  get status(): DeviceStatus {
    return this.#status;
  }

  /** How long until the network is back, or the server gives the silent session up, ms. */
  get leftMs(): number {
    return Math.max(0, this.#endsAt - Date.now());
  }

  /** The connection breaks at once, without a word; for `ms` no other can be made. */
  cut(ms: number): void {
    this.#set("cut", Date.now() + ms);
    for (const cut of this.#cuts) cut();
    setTimeout(() => this.#set("on"), ms);
  }

  freeze(): void {
    this.#set("frozen", this.#heardAt + this.#deadlineMs);
  }

  /** First whatever was on its way arrives, then the page's own code runs on. */
  thaw(): void {
    this.#set("on");
    const held = this.#held;
    this.#held = [];
    for (const run of held) run();
  }

  timer(ms: number, run: () => unknown): () => void {
    let isCalledOff = false;
    const id = setTimeout(() => this.run(() => !isCalledOff && run()), ms);
    return () => {
      isCalledOff = true;
      clearTimeout(id);
    };
  }

  /** Now, or as soon as scripts run again. */
  run(work: () => unknown): void {
    if (this.#status === "frozen") this.#held.push(work);
    else work();
  }

  async fetch(path: string, init: RequestInit): Promise<Response> {
    await new Promise<void>((resolve) => this.run(resolve));
    if (this.#status === "cut") throw new TypeError("there is no network");
    return fetch(path, init);
  }

  #set(status: DeviceStatus, endsAt = 0): void {
    this.#status = status;
    this.#endsAt = endsAt;
    this.#onChange();
  }
}
