/** Elements in one expression. */

type Attributes = Readonly<Record<string, string | boolean>>;

/** `true` is an attribute without a value, `false` is none. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  attributes: Attributes = {},
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

export function button(
  text: string,
  onClick: () => void | Promise<void>,
  kind: "plain" | "main" | "danger" = "plain",
): HTMLButtonElement {
  const made = make("button", { type: "button", class: kind }, text);
  made.addEventListener("click", () => {
    Promise.resolve(onClick()).catch(reportError);
  });
  return made;
}

/** Leaves alone what says the same already. */
export function setText(element: Node, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

export function avatar(name: string, tone: string): HTMLElement {
  return make("span", { class: "avatar", "data-tone": tone, "aria-hidden": "true" }, name.slice(0, 1));
}
