/** Where there is room for one window only: whose it is, and what the other one is at meanwhile. */

import type { Desk } from "./desk.ts";
import { avatar, make, setText } from "./dom.ts";

interface Tab {
  readonly desk: Desk;
  readonly button: HTMLButtonElement;
  readonly doing: HTMLElement;
}

export class Tabs {
  readonly element: HTMLElement;
  readonly #tabs: readonly Tab[];

  constructor(desks: readonly Desk[]) {
    this.#tabs = desks.map((desk) => {
      const { name, tone } = desk.person;
      const doing = make("small");
      const button = make(
        "button",
        { type: "button", "data-tone": tone },
        avatar(name, tone),
        make("span", {}, make("b", {}, name), doing),
      );
      button.addEventListener("click", () => this.#show(desk));
      return { desk, button, doing };
    });
    this.element = make(
      "nav",
      { class: "tabs", "aria-label": "Whose window" },
      ...this.#tabs.map(({ button }) => button),
    );
    const [first] = desks;
    if (first !== undefined) this.#show(first);
  }

  render(): void {
    for (const { desk, doing } of this.#tabs) {
      setText(doing, doingOf(desk));
    }
  }

  #show(desk: Desk): void {
    document.body.dataset["shown"] = desk.person.tone;
    for (const tab of this.#tabs) tab.button.setAttribute("aria-pressed", String(tab.desk === desk));
  }
}

function doingOf(desk: Desk): string {
  const { device, active } = desk;
  if (device.status === "frozen") return "frozen";
  if (!desk.isConnected) return "no connection";
  if (active === undefined) return "looks on";
  const { label } = active.field;
  if (!active.isHeld) return `waits for ${label}`;
  return (desk.stateOf(active)?.asks?.length ?? 0) > 0 ? `is asked for ${label}` : `is in ${label}`;
}
