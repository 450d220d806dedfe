/** A page of gates, as whoever uses `latchkey/element` writes it. */

import { connect } from "latchkey/client";
import { defineLatchGate, type LatchGate } from "latchkey/element";
import type { GateCalls, Told } from "../support/gate-calls.ts";

/** `?server=` names another one. */
const client = connect(new URLSearchParams(location.search).get("server") ?? location.origin);
const told: Told[] = [];

const gate = (id: string): LatchGate => document.getElementById(id) as LatchGate;

function isUsable(selector: string): boolean {
  const element = document.querySelector<HTMLElement>(selector);
  element?.focus();
  const isFocused = element !== null && document.activeElement === element;
  element?.blur();
  return isFocused;
}

for (const type of ["lockacquired", "locklost", "lockqueue"]) {
  document.addEventListener(type, (event) => {
    const { id } = event.target as Element;
    const { signal: _, ...detail } = (event as CustomEvent<Told["detail"] & { signal?: AbortSignal }>).detail;
    told.push({ type, id, isUsable: isUsable(`#${id} [slot=held]`), detail });
  });
}

const calls: GateCalls = {
  put: (html) => document.body.insertAdjacentHTML("beforeend", html),
  define: () => defineLatchGate(client),
  state: (id) => gate(id).getAttribute("state") ?? "",
  fence: (id) => gate(id).snapshot.fence,
  reached: async (id, state) => {
    while (gate(id).getAttribute("state") !== state) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const observer = new MutationObserver(() => resolve());
      observer.observe(gate(id), { attributeFilter: ["state"] });
      await promise;
      observer.disconnect();
    }
  },
  isUsable,
  isShown: (selector) => document.querySelector(selector)?.checkVisibility() ?? false,
  events: () => told,
  set: (id, attribute, value) => gate(id).setAttribute(attribute, value),
  move: (id) => {
    const moved = gate(id);
    moved.remove();
    document.body.append(moved);
  },
  remove: (id) => gate(id).remove(),
  acquire: (id) => {
    try {
      gate(id).acquire();
      return "";
    } catch (error) {
      return (error as Error).name;
    }
  },
  release: (id) => gate(id).release(),
  steal: (id, reason) => gate(id).steal(reason),
};
Object.assign(globalThis, { calls });
