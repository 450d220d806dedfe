/** What a field is written in. It can be written in only while its lock is held, and asks for it when it is entered. */

import { type Field, TEXT_CHARS_MAX } from "../fields.ts";
import { make } from "./dom.ts";

interface Calls {
  /** The person is here now. `text`: what they chose already. */
  enter(text?: string): void;
  edit(text: string): void;
  leave(): Promise<void>;
}

export class Input {
  readonly label: HTMLElement;
  readonly element: HTMLElement;
  /** Puts the person into it. */
  readonly focus: () => void;
  readonly #show: (text: string, isHeld: boolean) => void;

  constructor(id: string, field: Field, calls: Calls) {
    const made = field.kind === "choice" ? choice(id, field, calls) : typed(id, field, calls);
    this.label = made.label;
    this.element = made.element;
    this.#show = made.show;
    this.focus = made.focus;
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") calls.leave().catch(reportError);
    });
  }

  show(text: string, isHeld: boolean): void {
    this.#show(text, isHeld);
  }
}

interface Made {
  readonly label: HTMLElement;
  readonly element: HTMLElement;
  readonly focus: () => void;
  readonly show: (text: string, isHeld: boolean) => void;
}

function typed(id: string, { label, kind }: Field, calls: Calls): Made {
  const common = { id, class: "input", maxlength: String(TEXT_CHARS_MAX), autocomplete: "off", spellcheck: "false" };
  const element =
    kind === "text" ? make("textarea", { ...common, rows: "3" }) : make("input", { ...common, type: "text" });
  element.addEventListener("focus", () => calls.enter());
  // Who is in the field already, and let it go there, starts to type again.
  element.addEventListener("beforeinput", () => calls.enter());
  element.addEventListener("click", () => calls.enter());
  element.addEventListener("input", () => calls.edit(element.value));
  return {
    label: make("label", { for: id, id: `${id}-label` }, label),
    element,
    focus: () => element.focus(),
    show(text, isHeld) {
      element.readOnly = !isHeld;
      // Setting the same value would move the caret.
      if (element.value !== text) element.value = text;
    },
  };
}

/** A choice is no typing: looking at it takes no lock, choosing does. */
function choice(id: string, { label, options = [] }: Field, calls: Calls): Made {
  let isMine = false;
  let shown = "";
  const inputs = options.map((option) => make("input", { type: "radio", name: id, value: option }));
  const show = (): void => {
    for (const input of inputs) input.checked = input.value === shown;
  };
  for (const input of inputs) {
    input.addEventListener("change", () => {
      if (isMine) {
        calls.edit(input.value);
        return;
      }
      show();
      calls.enter(input.value);
    });
  }
  const segments = inputs.map((input) => make("label", { class: "segment" }, input, make("span", {}, input.value)));
  return {
    label: make("span", { id: `${id}-label` }, label),
    element: make(
      "div",
      { id, class: "input choice", role: "radiogroup", "aria-labelledby": `${id}-label` },
      ...segments,
    ),
    focus: () => inputs.find(({ checked }) => checked)?.focus(),
    show(text, isHeld) {
      isMine = isHeld;
      shown = text;
      show();
    },
  };
}
