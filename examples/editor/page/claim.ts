/**
 * One person's claim to one field: wait for the lock, write under it, let it go, ask for it, take it. What was typed is kept
 * whatever becomes of the lock.
 */

import { type AccessAsk, type Client, type Lock, LockLostError } from "latchkey/client";
import type { Field, FieldState } from "../fields.ts";
import type { Device } from "./device.ts";
import { explain } from "./loss.ts";
import { personOf, shortFence } from "./people.ts";

export const PREFIX = "demo/form/";

const SAVE_MS = 350;

/** Why the person cannot write any more, and what they had typed. */
export interface Notice {
  readonly title: string;
  readonly detail: string;
  readonly kept: string;
  /** It never reached the document. */
  readonly isUnsaved: boolean;
}

export interface ClaimOwner {
  readonly client: Client;
  readonly device: Device;
  readonly name: string;
  /** Something is to be shown anew. */
  changed(): void;
  tell(text: string): void;
}

export class Claim {
  readonly field: Field;
  readonly key: string;
  /** What this person has typed, while they hold the lock. */
  draft: string | undefined;
  notice: Notice | undefined;
  /** The message of an ask that stands. */
  asked: string | undefined;
  /** Asks that were answered "not now". */
  readonly declined = new Set<string>();
  readonly #owner: ClaimOwner;
  #lock: Lock | undefined;
  /** In line, and on the way to take the lock: each is left by its abort. */
  readonly #places = new Set<AbortController>();
  #saved = "";
  #cancelSave: (() => void) | undefined;
  #saving: Promise<void> | undefined;

  constructor(field: Field, owner: ClaimOwner) {
    this.field = field;
    this.key = PREFIX + field.name;
    this.#owner = owner;
  }

  get isHeld(): boolean {
    return this.#lock !== undefined;
  }

  get isWaiting(): boolean {
    return this.#places.size > 0;
  }

  get isSaved(): boolean {
    return this.draft === this.#saved && this.#saving === undefined;
  }

  get fence(): number | undefined {
    return this.#lock?.fence;
  }

  /** Gets in line. `text`: written as soon as it is this person's turn. */
  want(text?: string): Promise<void> {
    if (this.isHeld || this.isWaiting) return Promise.resolve();
    return this.#get((signal) => this.#owner.client.acquire(this.key, { signal }), text);
  }

  /** Takes the lock from whoever has it, who is told the reason. The place in line is kept until then: it may not be permitted. */
  takeOver(reason: string): Promise<void> {
    this.#owner.tell(`takes over ${this.field.label}: “${reason}”`);
    return this.#get((signal) => this.#owner.client.steal(this.key, { reason, signal }));
  }

  async ask(message: string): Promise<void> {
    this.asked = message;
    this.#owner.tell(`asks for ${this.field.label}: “${message}”`);
    await this.#try(() => this.#owner.client.requestAccess(this.key, message));
  }

  async withdraw(): Promise<void> {
    this.asked = undefined;
    await this.#try(() => this.#owner.client.requestAccess(this.key, undefined, { withdraw: true }));
  }

  edit(text: string): void {
    this.draft = text;
    this.#cancelSave?.();
    this.#cancelSave = this.#owner.device.timer(SAVE_MS, () => this.save().catch(reportError));
    this.#owner.changed();
  }

  /** One write at a time, so that none overtakes another. */
  async save(): Promise<void> {
    this.#cancelSave?.();
    while (this.#saving !== undefined) await this.#saving;
    if (this.draft !== undefined && this.draft !== this.#saved) await this.write(this.draft);
  }

  /** A write carries the fence of its lock. The document refuses it when it has seen a later one. */
  write(text: string): Promise<void> {
    const fence = this.#lock?.fence;
    if (fence === undefined) return Promise.resolve();
    this.#saving = this.#put(fence, text).then((field) => {
      this.#saving = undefined;
      if (field?.fence === fence) this.#saved = text;
      else if (field !== undefined) this.#late(fence, field.fence, text);
      this.#owner.changed();
    });
    return this.#saving;
  }

  /** Lets the lock go, or leaves the line. */
  async leave(): Promise<void> {
    this.#leaveLine();
    const lock = this.#lock;
    if (lock === undefined) return;
    await this.save();
    if (this.#lock === lock) this.#end();
    await this.#try(() => lock.release());
  }

  async handTo({ session, user }: AccessAsk): Promise<void> {
    const lock = this.#lock;
    if (lock === undefined || session === undefined) return;
    await this.save();
    await this.#try(async () => {
      await lock.handTo(session);
      if (this.#lock !== lock) return;
      this.#end();
      this.#owner.tell(`hands ${this.field.label} to ${personOf(user).name}`);
    });
  }

  dismiss(): void {
    this.notice = undefined;
    this.#owner.changed();
  }

  async #get(acquire: (signal: AbortSignal) => Promise<Lock>, text?: string): Promise<void> {
    const place = new AbortController();
    this.#places.add(place);
    this.#owner.changed();
    try {
      const lock = await acquire(place.signal);
      // From here on the document takes nothing from whoever held it before, and tells how it reads now.
      const field = await this.#put(lock.fence);
      const isMine = field?.fence === lock.fence && !place.signal.aborted && !lock.signal.aborted;
      if (isMine) this.#granted(lock, field.text, text);
      else await this.#try(() => lock.release());
    } catch (error) {
      if (!place.signal.aborted) this.#owner.tell(`cannot have ${this.field.label}: ${String(error)}`);
    } finally {
      this.#places.delete(place);
      this.#owner.changed();
    }
  }

  #granted(lock: Lock, text: string, wanted: string | undefined): void {
    this.#leaveLine();
    this.#lock = lock;
    this.draft = this.#saved = text;
    this.notice = undefined;
    this.declined.clear();
    lock.signal.addEventListener("abort", () => this.#lost(lock), { once: true });
    if (wanted !== undefined) this.edit(wanted);
  }

  #lost(lock: Lock): void {
    if (this.#lock !== lock) return;
    const kept = this.draft ?? "";
    const reason = lock.signal.reason as unknown;
    const [title, detail] = explain(reason instanceof LockLostError ? reason : { reason: "unknown" });
    this.#note(title, detail, kept);
    this.#end();
    this.#owner.changed();
  }

  #late(fence: number, seen: number, text: string): void {
    const { label } = this.field;
    this.#owner.tell(
      `is late: a write to ${label} with fence ${shortFence(fence)} is refused, ${shortFence(seen)} was there before`,
    );
    this.#note(
      "This write came too late.",
      `It carried fence ${shortFence(fence)}, and ${shortFence(seen)} was there before it: the document refused it.`,
      text,
    );
  }

  #note(title: string, detail: string, kept: string): void {
    this.notice = { title, detail, kept, isUnsaved: kept !== this.#saved };
  }

  #end(): void {
    this.#cancelSave?.();
    this.#lock = undefined;
    this.draft = undefined;
    this.#owner.changed();
  }

  #leaveLine(): void {
    this.asked = undefined;
    for (const place of this.#places) place.abort();
    this.#places.clear();
    this.#owner.changed();
  }

  async #put(fence: number, text?: string): Promise<FieldState | undefined> {
    const body = JSON.stringify({ fence, by: this.#owner.name, text });
    try {
      const response = await this.#owner.device.fetch(`/demo/document/${this.field.name}`, { method: "PUT", body });
      return (await response.json()) as FieldState;
    } catch {
      // Whether it arrived is not known. The text stays, and counts as not saved.
      return undefined;
    }
  }

  async #try(work: () => Promise<unknown>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof LockLostError)) this.#owner.tell(`could not: ${String(error)}`);
    }
    this.#owner.changed();
  }
}
