/** A line to write to somebody, with a button that sends it. */

import { button, make } from "./dom.ts";

const MESSAGE_CHARS_MAX = 120;

export interface Letter {
  readonly label: string;
  readonly text: string;
  readonly action: string;
  readonly kind: "main" | "danger";
  readonly send: (text: string) => Promise<void>;
}

interface Calls {
  /** It is open now, or closed. */
  changed(): void;
  /** Whoever wrote in it is done, and needs another place to be at. */
  done(): void;
}

export class Composer {
  readonly element = make("div", { class: "panel composer", hidden: true });
  readonly #id: string;
  readonly #calls: Calls;

  constructor(id: string, calls: Calls) {
    this.#id = `${id}-message`;
    this.#calls = calls;
  }

  get isOpen(): boolean {
    return !this.element.hidden;
  }

  open({ label, text, action, kind, send }: Letter): void {
    const input = make("input", { id: this.#id, type: "text", maxlength: String(MESSAGE_CHARS_MAX), value: text });
    const finish = (): void => {
      this.close();
      send(input.value.trim()).catch(reportError);
    };
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") finish();
      if (event.key === "Escape") this.close();
    });
    this.element.replaceChildren(
      make("label", { for: this.#id }, label),
      input,
      make(
        "span",
        { class: "buttons" },
        button(action, finish, kind),
        button("Cancel", () => this.close()),
      ),
    );
    this.element.hidden = false;
    this.#calls.changed();
    input.focus();
    input.select();
  }

  close(): void {
    if (this.element.hidden) return;
    const wasHere = this.element.contains(document.activeElement);
    this.element.hidden = true;
    this.#calls.changed();
    if (wasHere) this.#calls.done();
  }
}
