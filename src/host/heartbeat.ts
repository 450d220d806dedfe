/** When one connection was heard last, when it is pinged next, and when it has been silent for too long. */

import type { ConnectionMemory } from "./memory.ts";
import type { HostParts } from "./parts.ts";
import type { Socket } from "./ports.ts";

/** What is remembered of the last sign of life may lag behind by this at most, so that not every frame costs a write. */
const LAG_MAX_MS = 1000;

export class Heartbeat {
  pingAt: number = Number.POSITIVE_INFINITY;
  readonly #socket: Socket;
  readonly #parts: Pick<HostParts, "hibernation" | "settings">;
  #heardAt: number;
  #rememberedAt = Number.NEGATIVE_INFINITY;
  /** From the welcome on, where there is a heartbeat. */
  #isWatched = false;

  constructor(socket: Socket, parts: Pick<HostParts, "hibernation" | "settings">, now: number) {
    this.#socket = socket;
    this.#parts = parts;
    this.#heardAt = now;
  }

  isSilent(now: number): boolean {
    return this.#isWatched && now >= this.#silentAt();
  }

  /** Something came in. True: it is time to remember that. */
  heard(now: number): boolean {
    this.#heardAt = now;
    return now >= this.#rememberedAt + this.#lagMs();
  }

  begin(now: number, isWatched: boolean): void {
    this.#heardAt = now;
    this.#isWatched = isWatched;
    this.pinged(now);
  }

  goOn(memory: ConnectionMemory, isWatched: boolean): void {
    this.#heardAt = memory.heardAt + this.#lagMs();
    this.#isWatched = isWatched;
    this.pingAt = memory.pingAt;
  }

  /** Sets when the next ping is due. */
  pinged(now: number): void {
    const { hibernation, settings } = this.#parts;
    const { heartbeatMs } = settings;
    if (hibernation === undefined) {
      this.pingAt = now + heartbeatMs;
      return;
    }
    const phaseMs = hibernation.pingPhaseMs % heartbeatMs;
    this.pingAt = (Math.floor((now - phaseMs) / heartbeatMs) + 1) * heartbeatMs + phaseMs;
  }

  /** When something is due next. What is heard meanwhile only moves it to a later time. */
  dueAt(): number {
    return this.#isWatched ? Math.min(this.pingAt, this.#silentAt()) : Number.POSITIVE_INFINITY;
  }

  /** For a memory that is kept now. */
  remembered(): Pick<ConnectionMemory, "heardAt" | "pingAt"> {
    this.#rememberedAt = this.#heardAt;
    return { heardAt: this.#heardAt, pingAt: this.pingAt };
  }

  #silentAt(): number {
    const heardAt = Math.max(this.#heardAt, this.#socket.heardAt ?? Number.NEGATIVE_INFINITY);
    return heardAt + this.#parts.settings.deadlineMs;
  }

  #lagMs(): number {
    return Math.min(this.#parts.settings.heartbeatMs / 2, LAG_MAX_MS);
  }
}
