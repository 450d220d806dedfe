/** A field of a pane: its label, who is in it, the input, and what can be done about it. */

import type { Claim } from "./claim.ts";
import { Composer } from "./composer.ts";
import type { Desk } from "./desk.ts";
import { avatar, make } from "./dom.ts";
import { Input } from "./input.ts";
import { LineView } from "./line-view.ts";
import { type Look, lookOf } from "./look.ts";
import { Panels } from "./panels.ts";
import { Region } from "./region.ts";

export class FieldView {
  readonly element: HTMLElement;
  readonly #desk: Desk;
  readonly #claim: Claim;
  readonly #input: Input;
  readonly #chip = new Region(make("span", { class: "chip" }));
  readonly #line: LineView;
  readonly #composer: Composer;
  readonly #panels: Panels;

  constructor(desk: Desk, claim: Claim) {
    this.#desk = desk;
    this.#claim = claim;
    const id = `${desk.person.tone}-${claim.field.name}`;
    this.#input = new Input(id, claim.field, {
      enter: (text) => desk.enter(claim, text),
      edit: (text) => claim.edit(text),
      leave: () => claim.leave(),
    });
    this.#composer = new Composer(id, {
      changed: () => this.render(),
      done: () => this.#input.focus(),
    });
    this.#line = new LineView(claim, this.#composer);
    this.#panels = new Panels(claim, () => this.render());
    this.element = make(
      "section",
      { class: "field", "data-name": claim.field.name, "aria-labelledby": `${id}-label` },
      make("div", { class: "head" }, this.#input.label, this.#chip.element),
      this.#input.element,
      this.#line.element,
      this.#composer.element,
      this.#panels.element,
    );
  }

  render(): void {
    const look = lookOf(this.#desk, this.#claim);
    this.element.dataset["stage"] = look.stage;
    this.element.dataset["tone"] = look.holder?.tone ?? "";
    this.#input.show(this.#claim.draft ?? look.text, this.#claim.isHeld);
    if (look.stage !== "waiting") this.#composer.close();
    this.#renderChip(look);
    this.#line.render(look);
    this.#panels.render(look);
  }

  #renderChip({ stage, holder, isElsewhere }: Look): void {
    if (holder === undefined) {
      this.#chip.show([], () => []);
      return;
    }
    const { name, tone } = holder;
    const who = stage === "mine" ? "You are editing" : `${name} is editing${isElsewhere ? " elsewhere" : ""}`;
    this.#chip.show([who, tone], () => [avatar(name, tone), make("span", {}, who)]);
  }
}
