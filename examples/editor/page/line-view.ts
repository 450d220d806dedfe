/** The line under a field that somebody is in, or waits for: how it stands, and what can be done. */

import type { Claim } from "./claim.ts";
import type { Composer } from "./composer.ts";
import { button, make, setText } from "./dom.ts";
import type { Look } from "./look.ts";
import { shortFence } from "./people.ts";
import { Region } from "./region.ts";

export class LineView {
  readonly element: HTMLElement;
  readonly #claim: Claim;
  readonly #composer: Composer;
  readonly #asked = make("span", { class: "told asked" });
  readonly #told = make("span", { class: "told" });
  readonly #buttons = new Region(make("span", { class: "buttons" }));

  constructor(claim: Claim, composer: Composer) {
    this.#claim = claim;
    this.#composer = composer;
    this.element = make("div", { class: "line", hidden: true }, this.#asked, this.#told, this.#buttons.element);
  }

  render(look: Look): void {
    const { asked } = this.#claim;
    const isWaiting = look.stage === "waiting";
    this.element.hidden = look.stage !== "mine" && (!isWaiting || this.#composer.isOpen);
    // Each place in line is worth reading out, each save is not.
    this.#told.setAttribute("aria-live", isWaiting ? "polite" : "off");
    this.#told.classList.toggle("place", isWaiting);
    setText(this.#told, isWaiting ? placeOf(look.state?.position) : this.#savedAs(look));
    this.#asked.hidden = !isWaiting || asked === undefined;
    setText(this.#asked, `You asked: “${asked ?? ""}”`);
    const holder = look.holder?.name ?? "";
    this.#buttons.show([look.stage, asked !== undefined, holder], () =>
      isWaiting ? this.#whileWaiting(holder) : [button("Done", () => this.#claim.leave())],
    );
  }

  #savedAs({ state }: Look): string {
    const { isSaved, fence = 0 } = this.#claim;
    const waiting = state?.waiting ?? 0;
    return `${isSaved ? "Saved" : "Saving"}, fence ${shortFence(fence)}${waiting === 0 ? "" : ` · ${waiting} waiting`}`;
  }

  #whileWaiting(holder: string): HTMLElement[] {
    const claim = this.#claim;
    return [
      claim.asked === undefined
        ? button("Ask", () => this.#composeAsk(holder), "main")
        : button("Withdraw", () => claim.withdraw()),
      button("Take over", () => this.#composeTakeOver(holder), "danger"),
      button("Leave line", () => claim.leave()),
    ];
  }

  #composeAsk(holder: string): void {
    this.#composer.open({
      label: `Ask ${holder}`,
      text: "May I have this for a minute?",
      action: "Send",
      kind: "main",
      send: (message) => this.#claim.ask(message),
    });
  }

  #composeTakeOver(holder: string): void {
    this.#composer.open({
      label: `Take it from ${holder}? Say why`,
      text: "It has to go out now",
      action: "Take over",
      kind: "danger",
      send: (reason) => this.#claim.takeOver(reason),
    });
  }
}

function placeOf(position: number | undefined): string {
  if (position === undefined) return "You are in line";
  return position === 1 ? "You are next in line" : `You are ${ordinal(position)} in line`;
}

function ordinal(n: number): string {
  const suffix = { one: "st", two: "nd", few: "rd", other: "th", zero: "th", many: "th" };
  return n + suffix[new Intl.PluralRules("en", { type: "ordinal" }).select(n)];
}
