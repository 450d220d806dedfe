import { describe, expect, test } from "vitest";
import type { Command, Effect } from "../../src/core/index.ts";
import type { LockReceiver } from "../../src/host/lock-port.ts";
import { Space } from "../../src/host/space.ts";
import { Timers } from "../../src/host/timers.ts";
import { FakeStore } from "./support/store.ts";
import { settle, VirtualTime } from "./support/time.ts";

class Setting implements LockReceiver {
  readonly time: VirtualTime;
  readonly timers: Timers;
  readonly store: FakeStore;
  readonly told: Effect[] = [];
  readonly happened: string[] = [];
  readonly errors: unknown[] = [];
  readonly expiring: number[] = [];
  /** What waits for the end of the turn. */
  readonly gathered: (() => void)[] = [];
  onTold: (effect: Effect) => void = () => {};
  isVacant = false;
  readonly space: Space;

  constructor({ store = new FakeStore(), time = new VirtualTime(), serialFloor = 0, gathers = false } = {}) {
    this.store = store;
    this.time = time;
    this.timers = new Timers(time);
    time.wake = () => this.timers.run(time.now());
    this.space = new Space({
      name: "default",
      clock: time,
      store,
      timers: this.timers,
      receiver: this,
      options: {},
      serialFloor,
      gather: gathers ? (commit) => this.gathered.push(commit) : undefined,
      onError: (error) => this.errors.push(error),
      onStored: () => {},
      onExpiring: (at) => this.expiring.push(at),
      onFailed: () => this.happened.push("failed"),
      onIdle: () => this.happened.push("idle"),
    });
  }

  endTurn(): void {
    for (const commit of this.gathered.splice(0)) commit();
  }

  /** Another process on the same store. */
  restarted(): Setting {
    return new Setting({ store: this.store, time: this.time });
  }

  effect(effect: Effect): void {
    this.told.push(effect);
    this.onTold(effect);
  }

  stopped(): void {
    this.happened.push("stopped");
  }

  acquire(key: string, request: string, rest: object = {}): void {
    const command: Command = {
      kind: "acquire",
      from: "@",
      request,
      session: false,
      key,
      mode: "exclusive",
      ttlMs: 10_000,
      newToken: `token-${request}`,
      ...rest,
    };
    this.space.submit(command);
  }

  get kinds(): string[] {
    return this.told.map((effect) => `${effect.kind} ${"request" in effect ? effect.request : ""}`.trim());
  }
}

function heldStore(): FakeStore {
  const store = new FakeStore();
  store.mode = "held";
  return store;
}

describe("a store that commits at once", () => {
  test("effects are delivered in the same tick", () => {
    const setting = new Setting();
    setting.acquire("k", "a");
    expect(setting.kinds).toEqual(["granted a"]);
  });

  test("what an effect brings about queues behind it and never nests", () => {
    const setting = new Setting();
    setting.space.submit({ kind: "tick" });
    let depth = 0;
    setting.onTold = (effect) => {
      expect(++depth).toBe(1);
      if (effect.kind === "granted" && effect.request === "a") {
        setting.acquire("l", "b");
        setting.acquire("l", "c");
        expect(setting.kinds).toEqual(["granted a"]);
      }
      depth--;
    };
    setting.acquire("k", "a");
    expect(setting.kinds).toEqual(["granted a", "granted b", "queued c"]);
  });

  test("a listener that throws keeps no news from the others", () => {
    const setting = new Setting();
    setting.acquire("k", "a");
    setting.acquire("k", "b");
    setting.onTold = (effect) => {
      if (effect.kind === "granted") throw new Error("a bug in a listener");
    };
    setting.space.submit({ kind: "release", from: "@", request: "r", key: "k", token: "token-a" });
    expect(setting.kinds.slice(2)).toEqual(["ended a", "granted b", "released r"]);
    expect(setting.errors).toHaveLength(1);
  });

  test("a step that changes nothing that lasts is not committed", () => {
    const setting = new Setting();
    setting.space.submit({ kind: "status", from: "@", request: "s", key: "k" });
    expect(setting.store.commits).toEqual([]);
    expect(setting.kinds).toEqual(["status s"]);
  });
});

describe("where commits are gathered", () => {
  const gathering = (store = new FakeStore()): Setting => new Setting({ gathers: true, store });

  test("what comes in one turn shares a commit, and nobody hears of it before", () => {
    const setting = gathering();
    setting.acquire("k", "a");
    setting.acquire("l", "b");
    setting.space.submit({ kind: "release", from: "@", request: "r", key: "k", token: "token-a" });
    setting.space.submit({ kind: "status", from: "@", request: "s", key: "k" });
    expect([setting.store.commits.length, setting.kinds, setting.gathered.length]).toEqual([0, [], 1]);
    setting.endTurn();
    expect(setting.store.commits).toHaveLength(1);
    expect(setting.kinds).toEqual(["granted a", "granted b", "ended a", "released r", "status s"]);

    setting.acquire("k", "c");
    expect(setting.kinds).toHaveLength(5);
    setting.endTurn();
    expect(setting.store.commits).toHaveLength(2);
  });

  test("what is not stored waits for no turn", () => {
    const setting = gathering();
    setting.space.submit({ kind: "status", from: "@", request: "s", key: "k" });
    expect([setting.kinds, setting.gathered.length]).toEqual([["status s"], 0]);
  });

  test("each command is judged by the time at which it came", () => {
    const setting = gathering();
    setting.acquire("k", "a", { ttlMs: 100 });
    setting.time.advance(99);
    setting.acquire("k", "b", { timeoutMs: 0 });
    setting.endTurn();
    expect(setting.kinds).toEqual(["granted a", "ended b"]);
  });

  test("the space is settled only when the turn's commit is done", async () => {
    const setting = gathering();
    setting.acquire("k", "a");
    let isSettled = false;
    const settled = setting.space.settled().then(() => (isSettled = true));
    await settle();
    expect(isSettled).toBe(false);
    setting.endTurn();
    await settled;
    expect(setting.kinds).toEqual(["granted a"]);
  });

  test("leases end by themselves after it, too", () => {
    const setting = gathering();
    setting.acquire("k", "a", { ttlMs: 100 });
    setting.endTurn();
    setting.time.advance(100);
    setting.endTurn();
    expect(setting.kinds).toEqual(["granted a", "ended a"]);
  });

  test("when the commit fails nobody hears of a grant, and the space is over", () => {
    const setting = gathering();
    setting.acquire("k", "a");
    setting.store.mode = "broken";
    setting.acquire("l", "b");
    setting.endTurn();
    expect(setting.kinds).toEqual([]);
    expect(setting.happened).toEqual(["failed", "stopped"]);
    setting.endTurn();
    expect(setting.store.commits).toHaveLength(1);
  });
});

describe("numbers are reserved ahead", () => {
  test("a session's lock costs no commit while the reserve lasts", () => {
    const setting = new Setting();
    setting.space.submit({ kind: "open", session: "s", secret: "x", graceMs: 0 });
    const first = setting.store.commits.length;
    expect(setting.store.commits).toEqual([{ changes: 0, serialReserved: 101 + 4096 }]);
    for (let i = 0; i < 1000; i++) {
      setting.acquire(`k${i}`, `r${i}`, { from: "s", session: true, ttlMs: undefined });
    }
    expect(setting.store.commits).toHaveLength(first);
  });

  test("no number above the reserve leaves before a larger reserve is committed", async () => {
    const setting = new Setting();
    setting.space.submit({ kind: "open", session: "s", secret: "x", graceMs: 0 });
    setting.store.mode = "held";
    const reserved = 101 + 4096;
    let count = 0;
    while (setting.store.held.length === 0) setting.acquire("k", `r${count++}`, { from: "s", session: true });
    const largest = (): number =>
      Math.max(
        ...setting.told.map((effect) => ("fence" in effect ? effect.fence : "ticket" in effect ? effect.ticket : 0)),
      );
    expect(largest()).toBeLessThanOrEqual(reserved);
    const toldBefore = setting.told.length;
    setting.acquire("k", "later", { from: "s", session: true });
    await settle();
    expect(setting.told).toHaveLength(toldBefore);
    expect(setting.store.commits.at(-1)).toEqual({ changes: 0, serialReserved: reserved + 1 + 4096 });
    setting.store.finish();
    await settle();
    expect(largest()).toBe(reserved + 2);
  });

  test("a commit that is written anyway refills the reserve before it is used up", () => {
    const setting = new Setting();
    for (let i = 0; i < 1100; i++) setting.acquire(`k${i}`, `r${i}`);
    const reserving = setting.store.commits.filter(({ serialReserved }) => serialReserved !== undefined);
    expect(reserving).toHaveLength(2);
    expect(setting.store.commits.every(({ changes }) => changes > 0)).toBe(true);
  });

  test("a floor lifts the numbers of a store that forgot them", () => {
    const setting = new Setting({ serialFloor: 5000 });
    setting.acquire("k", "a");
    expect(setting.told).toMatchObject([{ fence: 5002 }]);
  });
});

describe("a store that commits later", () => {
  test("no effect is delivered before its commit", async () => {
    const setting = new Setting();
    setting.store.mode = "sync";
    setting.space.submit({ kind: "tick" });
    setting.store.mode = "held";
    setting.acquire("k", "a");
    await settle();
    expect(setting.kinds).toEqual([]);
    setting.store.finish();
    await settle();
    expect(setting.kinds).toEqual(["granted a"]);
  });

  test("commands that arrive while a commit is under way share the next one", async () => {
    const setting = new Setting();
    setting.space.submit({ kind: "tick" });
    setting.store.mode = "held";
    setting.acquire("k", "a");
    for (const request of ["b", "c", "d"]) setting.acquire(request, request);
    setting.space.submit({ kind: "status", from: "@", request: "s", key: "k" });
    expect(setting.store.commits).toHaveLength(1);
    setting.store.finish();
    await settle();
    expect(setting.kinds).toEqual(["granted a"]);
    expect(setting.store.commits).toHaveLength(2);
    expect(setting.store.commits[1]).toMatchObject({ changes: 3 });
    setting.store.finish();
    await settle();
    expect(setting.kinds).toEqual(["granted a", "granted b", "granted c", "granted d", "status s"]);
    expect(setting.store.held).toEqual([]);
  });

  test("a command is judged by the time at which it arrived, not by that of the commit before it", async () => {
    const setting = new Setting();
    setting.acquire("k", "a", { ttlMs: 1000 });
    setting.store.mode = "held";
    setting.acquire("other", "b");
    setting.time.skip(999);
    setting.space.submit({ kind: "extend", from: "@", request: "e", key: "k", token: "token-a", ttlMs: 5000 });
    setting.time.skip(500);
    setting.store.finish();
    await settle();
    setting.store.finish();
    await settle();
    expect(setting.told.at(-1)).toMatchObject({ kind: "extended", expiresAt: setting.time.now() - 500 + 5000 });
  });

  test("what falls due while a commit is under way is served after it", async () => {
    const setting = new Setting();
    setting.acquire("k", "a", { ttlMs: 1000 });
    setting.acquire("k", "b");
    setting.store.mode = "held";
    setting.acquire("other", "c");
    setting.time.advance(2000);
    expect(setting.kinds).toEqual(["granted a", "queued b"]);
    setting.store.finish();
    await settle();
    setting.time.advance(0);
    setting.store.finish();
    await settle();
    expect(setting.kinds).toEqual(["granted a", "queued b", "granted c", "ended a", "granted b"]);
  });

  test("commands wait for the load", async () => {
    const setting = new Setting({ store: heldStore() });
    setting.acquire("k", "a");
    setting.acquire("k", "b");
    expect(setting.store.loads).toEqual(["default"]);
    setting.store.finish();
    await settle();
    setting.store.finish();
    await settle();
    expect(setting.kinds).toEqual(["granted a", "queued b"]);
    expect(setting.store.loads).toHaveLength(1);
  });

  test("settled waits for all that was submitted", async () => {
    const setting = new Setting({ store: heldStore() });
    let isSettled = false;
    setting.acquire("k", "a");
    setting.acquire("k", "b");
    const settled = setting.space.settled().then(() => {
      isSettled = true;
    });
    for (let turn = 0; turn < 2; turn++) {
      await settle();
      expect(isSettled).toBe(false);
      setting.store.finish();
    }
    await settled;
    expect(setting.told).toHaveLength(2);
  });
});

describe("a store that fails", () => {
  test.each(["sync", "held"] as const)("nobody is told what was not committed: %s", async (mode) => {
    const setting = new Setting();
    setting.acquire("before", "x");
    setting.told.length = 0;
    if (mode === "sync") {
      setting.store.mode = "broken";
      setting.acquire("k", "a");
    } else {
      setting.store.mode = "held";
      setting.acquire("k", "a");
      setting.acquire("k", "b");
      setting.store.fail();
      await settle();
    }
    expect(setting.told).toEqual([]);
    expect(setting.happened).toEqual(["failed", "stopped"]);
    expect(setting.errors).toHaveLength(1);
  });

  test("a space that failed is never used again, and its alarm is off", () => {
    const setting = new Setting();
    setting.acquire("k", "a");
    setting.store.mode = "broken";
    setting.acquire("k2", "b");
    expect(() => setting.acquire("k3", "c")).toThrow("over");
    expect(setting.time.alarmAt).toBe(Number.POSITIVE_INFINITY);
  });

  test("a load that fails stops the space", async () => {
    const setting = new Setting({ store: heldStore() });
    setting.acquire("k", "a");
    setting.store.fail();
    await settle();
    expect(setting.happened).toEqual(["failed", "stopped"]);
  });

  test("a bug in the engine stops the space like a failed commit", () => {
    const setting = new Setting();
    setting.space.submit({ kind: "open", session: "s", secret: "x", graceMs: 0 });
    setting.space.submit({ kind: "open", session: "s", secret: "x", graceMs: 0 });
    expect(setting.happened).toEqual(["failed", "stopped"]);
  });
});

describe("a space that is loaded again", () => {
  test("what was committed is there, and numbers go on", () => {
    const before = new Setting();
    before.acquire("k", "a", { ttlMs: 60_000 });
    const after = before.restarted();
    after.space.submit({ kind: "release", from: "@", request: "r", key: "k", token: "token-a" });
    expect(after.kinds).toEqual(["ended a", "released r"]);
    after.acquire("k", "b");
    const fences = [...before.told, ...after.told].flatMap((effect) => (effect.kind === "granted" ? effect.fence : []));
    expect(fences[1]).toBeGreaterThan(fences[0]!);
  });

  test("sessions that were stored are dropped: their connections ended with the process", () => {
    const before = new Setting();
    before.space.submit({ kind: "open", session: "s", secret: "x", graceMs: 5000 });
    before.acquire("k", "a", { from: "s", session: true, ttlMs: undefined });
    const after = before.restarted();
    after.space.submit({ kind: "tick" });
    expect(after.told).toEqual([]);
    after.time.advance(4999);
    expect(after.told).toEqual([]);
    after.time.advance(1);
    expect(after.kinds).toEqual(["ended a", "session_ended"]);
  });
});

describe("an idle space", () => {
  test("is told to be idle once nothing lives and nothing is remembered and nobody listens", () => {
    const setting = new Setting();
    setting.isVacant = true;
    setting.acquire("k", "a");
    setting.space.submit({ kind: "release", from: "@", request: "r", key: "k", token: "token-a" });
    expect(setting.happened).toEqual([]);
    setting.time.advance(60_000);
    expect(setting.happened).toEqual([]);
    setting.time.advance(1000);
    expect(setting.happened).toEqual(["idle"]);
  });

  test("is not idle while somebody listens", () => {
    const setting = new Setting();
    setting.space.submit({ kind: "status", from: "@", request: "s", key: "k" });
    expect(setting.happened).toEqual([]);
  });
});
