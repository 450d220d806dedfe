/** What is put before a person under a field: who asks for it, and what became of a lock that was lost. */

import type { AccessAsk } from "latchkey/client";
import type { Claim, Notice } from "./claim.ts";
import { avatar, button, make } from "./dom.ts";
import { askId, type Look } from "./look.ts";
import { personOf } from "./people.ts";
import { Region } from "./region.ts";

export class Panels {
  readonly element: HTMLElement;
  readonly #claim: Claim;
  readonly #onChange: () => void;
  readonly #asks = new Region(make("div"));
  readonly #notice = new Region(make("div"));

  constructor(claim: Claim, onChange: () => void) {
    this.#claim = claim;
    this.#onChange = onChange;
    this.element = make("div", {}, this.#asks.element, this.#notice.element);
  }

  render({ asks, text }: Look): void {
    const { notice, isHeld } = this.#claim;
    this.#asks.show(asks, () => asks.map((ask) => this.#askPanel(ask)));
    if (notice === undefined || isHeld) this.#notice.show([], () => []);
    else {
      // What was typed stays in sight until it is dismissed, or the document says the same.
      const isKept = notice.kept !== text;
      this.#notice.show([notice, isKept], () => [this.#noticePanel(notice, isKept)]);
    }
  }

  #askPanel(ask: AccessAsk): HTMLElement {
    const { name, tone } = personOf(ask.user);
    const decline = (): void => {
      this.#claim.declined.add(askId(ask));
      this.#onChange();
    };
    return make(
      "div",
      { class: "panel ask", "data-tone": tone, role: "alert" },
      make("p", {}, avatar(name, tone), make("strong", {}, name), ` asks: “${ask.message ?? ""}”`),
      make(
        "span",
        { class: "buttons" },
        button("Hand over", () => this.#claim.handTo(ask), "main"),
        button("Not now", decline),
      ),
    );
  }

  #noticePanel({ title, detail, kept, isUnsaved }: Notice, isKept: boolean): HTMLElement {
    const quote = make(
      "blockquote",
      { class: "kept", hidden: !isKept },
      make("span", { class: "small" }, isUnsaved ? "Not saved, still here:" : "As you left it:"),
      make("span", { class: "text" }, kept),
    );
    return make(
      "div",
      { class: "panel notice", role: "alert" },
      make("p", {}, make("strong", {}, title), ` ${detail}`),
      quote,
      make(
        "span",
        { class: "buttons" },
        button("Dismiss", () => this.#claim.dismiss()),
      ),
    );
  }
}
