/**
 * A part of the page that is made anew only when what it shows is another thing: nothing vanishes under a finger or loses the
 * focus, and nothing is read out twice.
 */
export class Region {
  readonly element: HTMLElement;
  #shown = "[]";

  constructor(element: HTMLElement) {
    this.element = element;
    element.hidden = true;
  }

  /** `what`: all that decides how the parts look; when it is empty there is nothing to show. */
  show(what: readonly unknown[], parts: () => readonly (Node | string)[]): void {
    const shown = JSON.stringify(what);
    if (shown === this.#shown) return;
    this.#shown = shown;
    this.element.hidden = what.length === 0;
    this.element.replaceChildren(...(what.length === 0 ? [] : parts()));
  }
}
