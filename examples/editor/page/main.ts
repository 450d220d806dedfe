/** Two people at one form, each with a session of their own, and a third that watches. */

import { SessionClosedError } from "latchkey/client";
import { Desk } from "./desk.ts";
import { make } from "./dom.ts";
import { Journal } from "./journal.ts";
import { PaneView } from "./pane-view.ts";
import { PEOPLE } from "./people.ts";
import { ServerView } from "./server-view.ts";
import { SharedDocument } from "./shared-document.ts";
import { Tabs } from "./tabs.ts";

/** Countdowns are looked at this often, ms. */
const TICK_MS = 250;
const UNAUTHENTICATED = 4401;

start(undefined);

function start(auth: string | undefined): void {
  const journal = new Journal();
  const shared = new SharedDocument();
  const tell: Journal["tell"] = (person, text) => journal.tell(person, text);
  let isAsked = false;
  // However much changes in a turn, it is shown once.
  const onChange = (): void => {
    if (isAsked) return;
    isAsked = true;
    queueMicrotask(() => {
      isAsked = false;
      render();
    });
  };
  const desks = PEOPLE.map((person) => new Desk({ person, document: shared, auth, onChange, tell }));
  const panes = desks.map((desk) => new PaneView(desk));
  const tabs = new Tabs(desks);
  const server = new ServerView(desks, auth, tell);
  const render = (): void => {
    for (const pane of panes) pane.render();
    tabs.render();
    server.render();
  };
  put("panes", tabs.element, ...panes.map(({ element }) => element));
  put("queues", server.element);
  put("journal", journal.element);
  render();
  const ticking = setInterval(render, TICK_MS);
  desks[0]?.client.ready.catch((error: unknown) => {
    if (!(error instanceof SessionClosedError) || error.closeCode !== UNAUTHENTICATED) return;
    clearInterval(ticking);
    shared.close();
    askForKey();
  });
}

function put(id: string, ...children: readonly HTMLElement[]): void {
  document.getElementById(id)?.replaceChildren(...children);
}

/** A server with keys shows the page only where it was told to; the key stays in this page's memory. */
function askForKey(): void {
  const input = make("input", { id: "key", type: "password", autocomplete: "off", class: "input" });
  const form = make(
    "form",
    { class: "key" },
    make("label", { for: "key" }, "This server asks for an API key"),
    input,
    make("button", { class: "main" }, "Use it"),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    start(input.value);
  });
  put("panes", form);
}
