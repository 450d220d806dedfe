import { describe, expect, test } from "vitest";
import { type Begin, type Command, Machine, Outbox, type RecordImage } from "../../src/core/index.ts";
import { Found } from "../../src/host/found.ts";

const BEGIN: Begin = {
  kind: "begin",
  from: "@a",
  request: "1",
  key: "k",
  session: false,
  fingerprint: "f",
  ttlMs: 1000,
  leaseMs: 100,
  waitMs: 0,
  newAttempt: "t1",
};
const DONE: Command = {
  kind: "complete",
  from: "@a",
  request: "2",
  key: "k",
  attempt: "t1",
  result: new Uint8Array([1]),
  contentType: "a",
};

class Setting {
  readonly machine = new Machine();
  readonly outbox = new Outbox();
  readonly asked: string[] = [];
  readonly errors: unknown[] = [];
  find: (key: string) => RecordImage | undefined = () => undefined;
  isFull = false;
  readonly found = new Found({
    space: "s",
    store: {
      find: (space, key) => {
        this.asked.push(`${space}/${key}`);
        return this.find(key);
      },
      isFull: () => this.isFull,
    },
    outbox: this.outbox,
    onError: (error, about) => this.errors.push([error, about]),
  });

  step(command: Command): void {
    this.machine.step(this.found.complete(command, this.machine), 0, this.outbox);
  }

  get kinds(): string[] {
    return this.outbox.effects.slice(0, this.outbox.effectCount).map(({ kind }) => kind);
  }
}

describe("what a command about a record brings along", () => {
  test("the changes of a batch that is not committed yet count before what the store has", () => {
    const setting = new Setting();
    for (const command of [BEGIN, DONE, { ...BEGIN, request: "3" }]) setting.step(command);
    expect(setting.kinds).toEqual(["started", "completed", "replay"]);
    setting.step({ kind: "forget", from: "@a", request: "4", key: "k" });
    setting.step({ ...BEGIN, request: "5" });
    expect(setting.kinds).toEqual(["started", "completed", "replay", "forgotten", "started"]);
    // Only the first begin had to ask the store.
    expect(setting.asked).toEqual(["s/k"]);
  });

  test("after the commit the store is asked again", () => {
    const setting = new Setting();
    setting.step(BEGIN);
    setting.step(DONE);
    const stored = setting.outbox.changes[1];
    setting.step({ ...BEGIN, request: "2" });
    setting.outbox.clear();
    setting.found.committed();
    setting.find = () => (stored?.kind === "record" ? stored.record : undefined);
    setting.step({ ...BEGIN, request: "3" });
    expect(setting.kinds).toEqual(["replay"]);
    expect(setting.asked).toEqual(["s/k", "s/k"]);
  });

  test("nothing, for a record that lives and for commands about locks", () => {
    const setting = new Setting();
    setting.step(BEGIN);
    setting.step({ ...BEGIN, request: "2" });
    setting.step({ kind: "status", from: "@a", request: "3", key: "other" });
    expect(setting.asked).toEqual(["s/k"]);
  });

  test("a store that cannot say refuses what is about that key, changes nothing, and is reported", () => {
    const setting = new Setting();
    setting.find = (key) => {
      if (key === "k") throw new Error("damaged");
      return undefined;
    };
    setting.step(BEGIN);
    expect(setting.outbox.effects[0]).toMatchObject({ kind: "refused", code: "unavailable", key: "k" });
    expect(setting.outbox.changeCount).toBe(0);
    expect(setting.errors).toEqual([[new Error("damaged"), { where: "find" }]]);
    setting.step({ ...BEGIN, key: "l" });
    expect(setting.kinds).toEqual(["refused", "started"]);
  });

  test("that the store is full, with a begin of a record that it does not have", () => {
    const setting = new Setting();
    setting.isFull = true;
    setting.step(BEGIN);
    expect(setting.outbox.effects[0]).toMatchObject({ kind: "refused", code: "limit", limit: "records" });
  });
});
