/** What happened, newest first. */

import { make } from "./dom.ts";
import type { Person } from "./people.ts";

const LINES_MAX = 40;

export class Journal {
  readonly element = make("ol", { class: "journal", role: "log", "aria-label": "What happened" });

  tell({ name, tone }: Person, text: string): void {
    const time = new Date().toLocaleTimeString("en-GB");
    this.element.prepend(
      make("li", {}, make("time", {}, time), make("span", { class: "name", "data-tone": tone }, name), ` ${text}`),
    );
    this.element.children[LINES_MAX]?.remove();
  }
}
