/** The Web Locks suite in a page: against `client.locks`, and against the browser's own `navigator.locks`. */

import { type Client, connect } from "latchkey/client";
import { CASES, type Manager, type Managers, runCase } from "../../web-locks/suite.ts";
import type { LocksCalls } from "../support/locks-calls.ts";

/** `?server=` names it. */
const server = new URL(location.href).searchParams.get("server") ?? location.origin;
const clients = connectAll();

function connectAll(): readonly Client[] {
  return [1, 2, 3].map(() => connect(server));
}

function managersOf(own: readonly Client[]): Managers {
  const all = own.map(({ locks }) => locks as Manager) as unknown as Managers["all"];
  return { all, end: async (manager) => own[all.indexOf(manager)]?.close() };
}

/** The page's own locks, and those of two frames: the browser takes these for other clients. */
function nativeManagers(): Managers {
  const frames = [1, 2].map(() => document.body.appendChild(document.createElement("iframe")));
  const others = frames.map(({ contentWindow }) => inThisRealm(contentWindow as Window & typeof globalThis));
  return { all: [navigator.locks as Manager, ...others] as unknown as Managers["all"] };
}

/** A frame has promises and errors of its own making, which no `instanceof` of this page knows. */
function inThisRealm(frame: Window & typeof globalThis): Manager {
  const locks = frame.navigator.locks as Manager;
  const translated = (reason: unknown): unknown =>
    reason instanceof frame.DOMException ? new DOMException(reason.message, reason.name) : reason;
  return {
    request: (...args) =>
      new Promise((resolve, reject) => {
        // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- It rejects with whatever the frame's promise does.
        locks.request(...args).then(resolve, (reason: unknown) => reject(translated(reason)));
      }),
    query: async () => locks.query(),
  };
}

const native = nativeManagers();

async function run(name: string, isNative: boolean): Promise<void> {
  const one = CASES.find((candidate) => candidate.name === name);
  if (one === undefined) throw new Error(`there is no case ${name}`);
  if (isNative) return runCase(one, native);
  if (one.needs?.includes("end") !== true) return runCase(one, managersOf(clients));
  const own = connectAll();
  try {
    await runCase(one, managersOf(own));
  } finally {
    await Promise.all(own.map((client) => client.close()));
  }
}

const calls: LocksCalls = {
  run: (name, isNative) =>
    run(name, isNative).then(
      () => "",
      (error: unknown) => String(error),
    ),
};
Object.assign(globalThis, { calls });
