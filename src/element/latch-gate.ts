/** The element itself. Its class is made when it is defined: where there is no page there is no class to inherit from. */

import { type ClaimShare, type ClaimSnapshot, type ClaimState, type ClaimStore, IDLE } from "../claim-store/index.ts";
import type { LatchGate, LockAcquiredDetail, LockLostDetail, LockQueueDetail } from "./latch-gate-types.ts";

const IDENTITY = ["key", "mode", "limit"];
const OPTIONS = ["auto", "requeue", "ttl", "meta"];

interface Details {
  readonly lockacquired: LockAcquiredDetail;
  readonly locklost: LockLostDetail;
  readonly lockqueue: LockQueueDetail;
}

export function gateClass(store: ClaimStore): CustomElementConstructor {
  return class extends HTMLElement implements LatchGate {
    static readonly observedAttributes: readonly string[] = [...IDENTITY, ...OPTIONS];
    readonly #slots: Slots;
    #isConnected = false;
    #key = "";
    #share: ClaimShare | undefined;
    #stop: (() => void) | undefined;
    #snapshot: ClaimSnapshot = IDLE;
    /** Of the grant that was told last: a gate that is moved has not got the lock again. */
    #told: AbortSignal | undefined;

    constructor() {
      super();
      this.#slots = new Slots(this.attachShadow({ mode: "open" }));
    }

    get snapshot(): ClaimSnapshot {
      return this.#snapshot;
    }

    connectedCallback(): void {
      this.#isConnected = true;
      this.#enter();
    }

    disconnectedCallback(): void {
      this.#isConnected = false;
      this.#exit();
    }

    attributeChangedCallback(name: string, before: string | null, after: string | null): void {
      // Before it is connected too: then the attributes are read when it is.
      if (!this.#isConnected || before === after) return;
      if (IDENTITY.includes(name)) {
        this.#exit();
        this.#enter();
        return;
      }
      if (this.#share === undefined) return;
      this.#share.options = optionsOf(this);
      if (name === "auto" && after !== null) this.#share.acquire();
    }

    acquire(): void {
      this.#claim().acquire();
    }

    async release(): Promise<void> {
      await this.#claim().release();
    }

    async steal(reason: string): Promise<void> {
      await this.#claim().steal(reason);
    }

    async requestAccess(message?: string, options?: { readonly withdraw?: boolean }): Promise<void> {
      await this.#claim().requestAccess(message, options);
    }

    async handTo(session: string): Promise<void> {
      await this.#claim().handTo(session);
    }

    #claim(): ClaimShare {
      if (this.#share !== undefined) return this.#share;
      throw new DOMException("the gate has no key, or is in no document", "InvalidStateError");
    }

    #enter(): void {
      const key = this.getAttribute("key");
      if (key === null) return this.#show(IDLE);
      const mode = this.getAttribute("mode") === "shared" ? "shared" : "exclusive";
      const share = store.share({ key, mode, limit: numberIn(this, "limit") });
      share.options = optionsOf(this);
      this.#key = key;
      this.#share = share;
      this.#stop = share.subscribe(() => this.#show(share.getSnapshot()));
      if (this.hasAttribute("auto")) share.acquire();
      this.#show(share.getSnapshot());
    }

    /** The claim is let go a turn later: an element that is moved keeps its place. */
    #exit(): void {
      const share = this.#share;
      this.#share = undefined;
      share?.leave();
      this.#stop?.();
      this.#stop = undefined;
      this.#show(IDLE);
    }

    #show(now: ClaimSnapshot): void {
      const before = this.#snapshot;
      this.#snapshot = now;
      if (this.getAttribute("state") !== now.state) this.setAttribute("state", now.state);
      this.#slots.show(now.state);
      const key = this.#key;
      // What is shown is right before anybody hears of it, and a listener may change it again.
      const { fence, signal, lossReason: reason, by, position, waiting, holders } = now;
      if (before.state === "held" && now.state !== "held" && reason !== undefined) {
        this.#tell("locklost", { key, reason, by });
      }
      if (now.state === "held" && this.#told !== signal && fence !== undefined && signal !== undefined) {
        this.#told = signal;
        this.#tell("lockacquired", { key, fence, signal });
      }
      if (before.position !== position || before.waiting !== waiting || before.holders !== holders) {
        this.#tell("lockqueue", { key, position, waiting, holders });
      }
    }

    #tell<Type extends keyof Details>(type: Type, detail: Details[Type]): void {
      this.dispatchEvent(new CustomEvent(type, { detail, bubbles: true, composed: true }));
    }
  };
}

/** Which slot is shown in which state. */
class Slots {
  readonly #held = slot("held");
  readonly #waiting = slot("waiting");
  readonly #free = slot("free");

  constructor(root: ShadowRoot) {
    // A sheet that is constructed passes a policy that forbids style elements.
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(":host { display: block } :host([hidden]), [hidden] { display: none }");
    root.adoptedStyleSheets = [sheet];
    root.append(document.createElement("slot"), this.#free, this.#waiting, this.#held);
    this.show("idle");
  }

  show(state: ClaimState): void {
    const isWaiting = state === "waiting" || state === "connecting";
    this.#held.inert = state !== "held";
    this.#waiting.hidden = !isWaiting;
    this.#free.hidden = isWaiting || state === "held";
  }
}

function slot(name: string): HTMLElement {
  const made = document.createElement("div");
  made.setAttribute("part", name);
  const inner = document.createElement("slot");
  inner.name = name;
  made.append(inner);
  return made;
}

function optionsOf(element: Element): ClaimShare["options"] {
  return {
    ttl: numberIn(element, "ttl"),
    requeue: element.hasAttribute("requeue"),
    meta: metaIn(element.getAttribute("meta")),
  };
}

function numberIn(element: Element, name: string): number | undefined {
  const text = element.getAttribute(name);
  return text === null || text.trim() === "" ? undefined : Number(text);
}

function metaIn(text: string | null): unknown {
  if (text === null) return undefined;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
