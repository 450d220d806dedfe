/** The document as it is on the server, followed by server-sent events. */

import { FIELDS, type FieldState } from "../fields.ts";

export class SharedDocument {
  readonly #fields = new Map<string, FieldState>(
    FIELDS.map(({ name, text }) => [name, { name, text, fence: 0, by: "" }]),
  );
  readonly #listeners = new Set<(field: FieldState) => void>();

  readonly #events = new EventSource("/demo/document");

  constructor() {
    this.#events.addEventListener("message", ({ data }: MessageEvent<string>) => {
      const field = JSON.parse(data) as FieldState;
      this.#fields.set(field.name, field);
      for (const listener of this.#listeners) listener(field);
    });
  }

  all(): ReadonlyMap<string, FieldState> {
    return new Map(this.#fields);
  }

  close(): void {
    this.#events.close();
  }

  subscribe(listener: (field: FieldState) => void): void {
    this.#listeners.add(listener);
  }
}
