/** A person's window: who it is, how their connection is, what can befall it, and the form. */

import type { Desk } from "./desk.ts";
import { avatar, button, make, setText } from "./dom.ts";
import { FieldView } from "./field-view.ts";

export class PaneView {
  readonly element: HTMLElement;
  readonly #desk: Desk;
  readonly #fields: readonly FieldView[];
  readonly #form: HTMLElement;
  readonly #light = make("span", { role: "status" });
  /** Seconds are for the eye: nobody wants them read out one by one. */
  readonly #seconds = make("span", { "aria-hidden": "true" });
  readonly #cut: HTMLButtonElement;
  readonly #freeze: HTMLButtonElement;
  readonly #ice = make("p", { class: "ice", hidden: true });

  constructor(desk: Desk) {
    this.#desk = desk;
    const { name, tone } = desk.person;
    this.#fields = [...desk.claims.values()].map((claim) => new FieldView(desk, claim));
    this.#cut = button("Cut connection", () => desk.cut());
    this.#freeze = button("Freeze", () => (desk.device.status === "frozen" ? desk.thaw() : desk.freeze()));
    this.#form = make("div", { class: "form" }, ...this.#fields.map(({ element }) => element));
    this.element = make(
      "section",
      { class: "pane", "data-tone": tone, "aria-label": `${name}’s window` },
      make(
        "header",
        { class: "bar" },
        avatar(name, tone),
        make(
          "div",
          { class: "who" },
          make("h2", {}, name),
          make("div", { class: "light" }, this.#light, this.#seconds),
        ),
        make("span", { class: "buttons" }, this.#cut, this.#freeze),
      ),
      make("div", { class: "stage" }, this.#form, this.#ice),
    );
  }

  render(): void {
    const { device, client } = this.#desk;
    const { status } = device;
    const seconds = Math.ceil(device.leftMs / 1000);
    const [light, words] = lightOf(status, client.connection);
    this.element.dataset["status"] = light;
    setText(this.#light, words);
    setText(this.#seconds, status === "cut" ? `· back in ${seconds} s` : "");
    setText(this.#freeze, status === "frozen" ? "Thaw" : "Freeze");
    this.#freeze.disabled = status === "cut";
    this.#cut.disabled = status !== "on";
    this.#form.inert = status === "frozen";
    this.#ice.hidden = status !== "frozen";
    setText(
      this.#ice,
      seconds > 0
        ? `Frozen. The server hears nothing from here and ends this session in ${seconds} s.`
        : "Frozen. The server has given this session up and let go what it held.",
    );
    // A frozen page shows what it showed.
    if (status !== "frozen") for (const field of this.#fields) field.render();
  }
}

function lightOf(status: string, connection: string): readonly [light: string, words: string] {
  if (status === "frozen") return ["frozen", "Frozen"];
  if (status === "cut") return ["cut", "No connection"];
  switch (connection) {
    case "connected":
      return ["on", "Connected"];
    case "closed":
      return ["cut", "Closed"];
    default:
      return ["connecting", "Connecting…"];
  }
}
