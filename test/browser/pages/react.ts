/** A page that shows locks with React, in its strict mode. What was rendered by a server it takes over. */

import { flushSync } from "react-dom";
import { createRoot, hydrateRoot, type Root } from "react-dom/client";
import { connect } from "latchkey/client";
import type { UseLock } from "latchkey/react";
import type { ReactCalls } from "../support/react-calls.ts";
import { application, type View } from "../support/react-view.ts";

const complaints: string[] = [];
console.error = (...parts: unknown[]) => void complaints.push(parts.map(String).join(" "));
const onRecoverableError = (error: unknown): void => void complaints.push(String(error));

const client = connect(location.origin, { space: new URLSearchParams(location.search).get("space") ?? "default" });
const shown = new Map<string, UseLock>();
const states = new Map<string, string[]>();

function onShown(name: string, lock: UseLock | undefined): void {
  if (lock === undefined) {
    shown.delete(name);
    return;
  }
  shown.set(name, lock);
  const before = states.get(name) ?? [];
  if (before.at(-1) !== lock.state) states.set(name, [...before, lock.state]);
}

function lockOf(name: string): UseLock {
  const lock = shown.get(name);
  if (lock === undefined) throw new Error(`${name} is not shown`);
  return lock;
}

/** As the server left it, if it rendered anything. */
function start(): Root {
  const place = document.querySelector("#app") as Element;
  const view = document.querySelector("#view")?.textContent ?? "";
  if (view === "") return createRoot(place, { onRecoverableError });
  return hydrateRoot(place, application(client, JSON.parse(view) as View, onShown), { onRecoverableError });
}

const root = start();

const calls: ReactCalls = {
  show: (...views) => {
    for (const view of views) flushSync(() => root.render(application(client, view, onShown)));
  },
  seen: (name) => {
    const lock = shown.get(name);
    if (lock === undefined) return undefined;
    const { signal, error: _error, ...rest } = lock;
    return { ...rest, isAborted: signal?.aborted };
  },
  states: (name) => states.get(name) ?? [],
  acquire: (name) => lockOf(name).acquire(),
  release: (name) => lockOf(name).release(),
  steal: (name, reason) => lockOf(name).steal(reason),
  requestAccess: (name, message) => lockOf(name).requestAccess(message),
  handTo: (name, session) => lockOf(name).handTo(session),
  text: (id) => document.getElementById(id)?.textContent,
  session: async () => {
    await client.ready;
    return client.session;
  },
  complaints: () => complaints,
};
Object.assign(globalThis, { calls });
