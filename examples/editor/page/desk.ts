/** A person at work: a session of their own, on a device of their own, and at most one field that they are in. */

import { type Client, connect, type KeyState, type Watch } from "latchkey/client";
import { FIELDS } from "../fields.ts";
import { Claim, PREFIX } from "./claim.ts";
import { Device } from "./device.ts";
import type { Person } from "./people.ts";
import type { SharedDocument } from "./shared-document.ts";

const CUT_MS = 4_000;

export interface DeskOptions {
  readonly person: Person;
  readonly document: SharedDocument;
  /** An API key, where the server asks for one. */
  readonly auth: string | undefined;
  readonly onChange: () => void;
  readonly tell: (person: Person, text: string) => void;
}

export class Desk {
  readonly person: Person;
  readonly device: Device;
  readonly client: Client;
  readonly claims: ReadonlyMap<string, Claim>;
  /** How the document reads here: a frozen page does not follow it. */
  readonly texts = new Map<string, string>();
  readonly #watch: Watch;
  readonly #tell: (text: string) => void;
  #waitsFor: Claim | undefined;

  constructor({ person, document, auth, onChange, tell }: DeskOptions) {
    this.person = person;
    this.#tell = (text) => tell(person, text);
    this.device = new Device(onChange);
    this.client = connect(
      location.origin,
      {
        auth,
        user: person.name,
        meta: { name: person.name },
        WebSocket: this.device.WebSocket,
        reconnect: { capMs: 1_000 },
        onStatus: onChange,
      },
      this.device.ports,
    );
    this.#watch = this.client.watch({ prefix: PREFIX });
    this.#watch.subscribe(() => {
      this.#noteWaiting();
      onChange();
    });
    const owner = { client: this.client, device: this.device, name: person.name, changed: onChange, tell: this.#tell };
    this.claims = new Map(FIELDS.map((field) => [field.name, new Claim(field, owner)]));
    for (const { name, text } of document.all().values()) this.texts.set(name, text);
    document.subscribe(({ name, text }) => {
      this.device.run(() => {
        this.texts.set(name, text);
        onChange();
      });
    });
  }

  get isConnected(): boolean {
    return this.device.status === "on" && this.client.connection === "connected";
  }

  /** Whether what is shown of others is how things stand. */
  get isCurrent(): boolean {
    return this.#watch.isCurrent;
  }

  /** The field that they are in, or in line for. */
  get active(): Claim | undefined {
    return [...this.claims.values()].find((claim) => claim.isHeld || claim.isWaiting);
  }

  stateOf({ key }: Claim): KeyState | undefined {
    return this.#watch.states.get(key);
  }

  /** Moves into a field: in line for it, and out of any other. */
  enter(claim: Claim, text?: string): void {
    for (const other of this.claims.values()) if (other !== claim) other.leave().catch(reportError);
    claim.want(text).catch(reportError);
  }

  cut(): void {
    this.#tell("loses the connection");
    this.device.cut(CUT_MS);
  }

  /** The last thing that leaves is a write, which the network keeps until the thaw: just what fences are for. */
  freeze(): void {
    this.#tell("freezes: no script of this pane runs any more");
    this.device.freeze();
    for (const claim of this.claims.values()) {
      if (claim.draft !== undefined) claim.write(claim.draft).catch(reportError);
    }
  }

  thaw(): void {
    this.#tell("is back");
    this.device.thaw();
  }

  /** Only who really has to wait is said to wait: most claims are granted at once. */
  #noteWaiting(): void {
    const { active } = this;
    const waitsFor = active !== undefined && this.stateOf(active)?.position !== undefined ? active : undefined;
    if (waitsFor !== undefined && waitsFor !== this.#waitsFor) this.#tell(`waits for ${waitsFor.field.label}`);
    this.#waitsFor = waitsFor;
  }
}
