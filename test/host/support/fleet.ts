/** A fleet that has one process: spaces in memory, with a test's hand on what a real one does by itself. */

import type { Command } from "../../../src/core/index.ts";
import type { FleetPort, SharedSpace, SharedSpaceParts } from "../../../src/host/fleet-port.ts";
import { Host } from "../../../src/host/host.ts";
import type { Hear } from "../../../src/host/lock-port.ts";
import type { HostChoices } from "../../../src/host/settings.ts";
import { Space } from "../../../src/host/space.ts";
import { createMemoryStore } from "../../../src/stores/memory.ts";
import { VirtualTime } from "./time.ts";
import { FakeSocket, ORIGIN } from "./world.ts";

export class FleetWorld implements FleetPort {
  readonly time = new VirtualTime();
  readonly host: Host;
  readonly spaces: FakeSharedSpace[] = [];
  isUp = true;
  #socketLast = 0;

  constructor(choices: HostChoices = {}) {
    let minted = 0;
    const { time } = this;
    const mint = { token: () => `minted-${String(++minted).padStart(6, "0")}` };
    const onError = (error: unknown): never => {
      throw error;
    };
    const store = createMemoryStore(time);
    this.host = new Host({ clock: time, alarm: time, mint, store, onError, fleet: this, pause: time.pause }, choices);
    time.wake = () => this.host.woken();
  }

  get space(): FakeSharedSpace {
    return this.spaces.at(-1)!;
  }

  connect(parts: SharedSpaceParts): SharedSpace {
    const space = new FakeSharedSpace(parts, this.time);
    this.spaces.push(space);
    return space;
  }

  isAvailable(): Promise<boolean> {
    return Promise.resolve(this.isUp);
  }

  /** A connection; one that has said hello, unless that is null. */
  session(hello: object | null = {}, liveness = true): FakeSocket {
    const socket = new FakeSocket(`socket-${++this.#socketLast}`, this.host);
    this.host.opened(socket, { liveness });
    if (hello !== null) socket.hello(hello);
    return socket;
  }

  request(method: string, path: string, body?: object): Promise<Response> {
    return this.host.fetch(new Request(ORIGIN + path, { method, ...(body && { body: JSON.stringify(body) }) }));
  }
}

export class FakeSharedSpace implements SharedSpace {
  readonly epoch = 42;
  vouchedUntil: number = Number.POSITIVE_INFINITY;
  /** True: commands wait until it is false again, as while Redis is away. */
  isHeld = false;
  readonly parts: SharedSpaceParts;
  readonly submitted: Command[] = [];
  readonly said: string[] = [];
  /** Tells what watches of changed keys; without keys: any may have changed. */
  hear: Hear = () => {};
  /** True: of changed keys only the test tells. */
  isDeaf = false;
  readonly #held: Command[] = [];
  readonly #inner: Space;

  constructor(parts: SharedSpaceParts, time: VirtualTime) {
    this.parts = parts;
    const { name, receiver, timers, limits } = parts;
    const ignore = (): void => {};
    this.#inner = new Space({
      name,
      clock: time,
      store: createMemoryStore(time),
      timers,
      receiver: { effect: (effect) => receiver.effect(effect), stopped: ignore, isVacant: false },
      options: { limits },
      serialFloor: 0,
      onError: ignore,
      onStored: ignore,
      onExpiring: ignore,
      onFailed: ignore,
      onIdle: ignore,
    });
  }

  get name(): string {
    return this.parts.name;
  }

  submit(command: Command): void {
    this.submitted.push(command);
    if (this.isHeld) this.#held.push(command);
    else this.#inner.submit(command);
  }

  /** What waits is served. */
  flow(): void {
    this.isHeld = false;
    for (const command of this.#held.splice(0)) this.#inner.submit(command);
  }

  /** What waits is told that it waits in vain for now. */
  tell(): void {
    for (const command of this.#held) this.parts.receiver.unavailable?.(command);
  }

  cutOff(): void {
    this.parts.onLost(this);
    this.parts.receiver.stopped();
  }

  async settled(): Promise<void> {
    this.said.push("settled");
  }

  async leave(): Promise<void> {
    this.said.push("left");
  }

  watch(hear: Hear): () => void {
    this.hear = hear;
    return this.#inner.watch((keys) => {
      if (!this.isDeaf) hear(keys);
    });
  }

  counts(): undefined {
    return undefined;
  }
}
