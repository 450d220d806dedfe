/** A page that takes locks when it is told to, and writes down what it hears and what it holds at that moment. */

import { type AcquireOptions, connect, LatchkeyError, type Lock } from "latchkey/client";
import type { Heard, LifeCalls } from "../support/life-calls.ts";

const asked = new URLSearchParams(location.search);
const heard: Heard[] = [];
const locks = new Map<string, Lock>();
const signals = new Map<string, AbortSignal>();
const waits = new Map<string, number | string>();
let ticks = 0;

// Each wait is twice as long as the one before, and none is cut short by luck.
Math.random = () => 0.999;

const client = connect(location.origin, {
  requeue: asked.has("requeue"),
  reconnect: { baseMs: 10, capMs: 60_000 },
  onStatus: (status) => write(status),
});

const watches = new Map<string, ReturnType<typeof client.watch>>();

function write(type: string, persisted?: boolean): void {
  // The signals themselves are looked at, as work does that was given one: no getter of ours helps here.
  const held = [...signals].filter(([, signal]) => !signal.aborted).map(([key]) => key);
  heard.push({ type, held, at: Date.now(), ...(persisted !== undefined && { persisted }) });
}

for (const type of ["pagehide", "pageshow", "online", "offline"]) {
  addEventListener(type, (event) => write(type, event instanceof PageTransitionEvent ? event.persisted : undefined), {
    capture: true,
  });
}
for (const type of ["freeze", "resume", "visibilitychange"]) {
  document.addEventListener(type, () => write(type === "visibilitychange" ? document.visibilityState : type), {
    capture: true,
  });
}
setInterval(() => {
  ticks += 1;
}, 100);

async function take(key: string, options: AcquireOptions): Promise<number | string> {
  try {
    const lock = await client.acquire(key, options);
    locks.set(key, lock);
    signals.set(key, lock.signal);
    lock.signal.addEventListener("abort", () => write(`lost ${key}`));
    return lock.fence;
  } catch (error) {
    return error instanceof LatchkeyError ? error.code : String(error);
  }
}

const calls: LifeCalls = {
  acquire: (key, timeout) => take(key, timeout === undefined ? {} : { timeout }),
  wait: (key) => {
    waits.set(key, "waiting");
    take(key, {}).then(
      (result) => waits.set(key, result),
      (error: unknown) => waits.set(key, String(error)),
    );
  },
  waited: (key) => waits.get(key) ?? "unknown",
  watch: (key) => {
    watches.set(key, client.watch(key));
  },
  watched: (key) => {
    const { isCurrent = false, state } = watches.get(key) ?? {};
    return { isCurrent, holders: state?.holders.length ?? 0 };
  },
  isHeld: (key) => locks.get(key)?.signal.aborted === false,
  lossOf: async (key) => (await locks.get(key)?.lost)?.reason ?? "unknown",
  session: async () => {
    await client.ready;
    return client.session;
  },
  connection: () => client.connection,
  heard: () => heard,
  ticks: () => ticks,
  remembered: async () => {
    const databases = (await indexedDB.databases()).map(({ name }) => name);
    const stored = [
      Object.entries(sessionStorage),
      Object.entries(localStorage),
      document.cookie,
      history.state as unknown,
      window.name,
    ];
    return JSON.stringify([...stored, databases, await caches.keys(), location.href]);
  },
};
Object.assign(globalThis, { calls });
