import { describe, expect, test } from "vitest";
import { Departures } from "../../src/host/departures.ts";
import { settle } from "./support/time.ts";

function parties(departures: Departures, ...names: string[]) {
  const left: string[] = [];
  const add = (name: string): void => departures.add(members[name]!);
  const members = Object.fromEntries(names.map((name) => [name, { depart: () => left.push(name) }]));
  return { left, add, members };
}

describe("departures", () => {
  test("leave at the end of the turn, whoever was told first first", () => {
    const departures = new Departures();
    const { left, add } = parties(departures, "a", "b");
    departures.begin();
    add("b");
    add("a");
    expect(left).toEqual([]);
    departures.end();
    expect(left).toEqual(["b", "a"]);
  });

  test("leave at the end of the outermost turn", () => {
    const departures = new Departures();
    const { left, add } = parties(departures, "a");
    departures.begin();
    departures.begin();
    add("a");
    departures.end();
    expect(left).toEqual([]);
    departures.end();
    expect(left).toEqual(["a"]);
  });

  test("leave by themselves when no turn brought them about", async () => {
    const departures = new Departures();
    const { left, add } = parties(departures, "a", "b");
    add("a");
    add("b");
    expect(left).toEqual([]);
    await settle();
    expect(left).toEqual(["a", "b"]);
  });

  test("leave between the frames of a batch, but for what its sender is told", () => {
    const departures = new Departures();
    const { left, add, members } = parties(departures, "sender", "next");
    departures.begin();
    add("sender");
    add("next");
    departures.next(members["sender"]!);
    expect(left).toEqual(["next"]);
    departures.end();
    expect(left).toEqual(["next", "sender"]);
  });

  test("that bring about more, as a dead socket does, take that along", () => {
    const departures = new Departures();
    const { left, add } = parties(departures, "a", "b");
    departures.begin();
    departures.add({
      depart() {
        left.push("dead");
        add("a");
      },
    });
    add("b");
    departures.end();
    expect(left).toEqual(["dead", "b", "a"]);
  });

  test("of sockets that close in one turn of the event loop: the first's at once, the others' together at its end", () => {
    const put: (() => void)[] = [];
    const departures = new Departures((work) => put.push(work));
    const { left, add } = parties(departures, "a", "b", "c");
    const close = (...told: string[]): void => {
      departures.begin();
      for (const name of told) add(name);
      departures.endOfClose();
    };
    close("a");
    expect(left).toEqual(["a"]);
    close("b");
    close("c");
    expect(left).toEqual(["a"]);
    for (const work of put.splice(0)) work();
    expect(left).toEqual(["a", "b", "c"]);
    close("b");
    expect([left.at(-1), left.length, put.length]).toEqual(["b", 4, 1]);
  });

  test("of a socket that closed do not wait longer than what another turn brings about", () => {
    const departures = new Departures(() => undefined);
    const { left, add } = parties(departures, "a", "b", "c");
    departures.begin();
    departures.endOfClose();
    departures.begin();
    add("a");
    departures.endOfClose();
    expect(left).toEqual([]);
    departures.begin();
    add("b");
    departures.end();
    expect(left).toEqual(["a", "b"]);
  });

  test("of a socket that closed within another turn leave with it", () => {
    const departures = new Departures(() => undefined);
    const { left, add } = parties(departures, "a");
    departures.begin();
    departures.begin();
    add("a");
    departures.endOfClose();
    expect(left).toEqual([]);
    departures.end();
    expect(left).toEqual(["a"]);
  });

  test("leave once, though a turn fails", () => {
    const departures = new Departures();
    const { left, add } = parties(departures, "a");
    departures.begin();
    add("a");
    departures.end();
    departures.begin();
    departures.end();
    expect(left).toEqual(["a"]);
  });
});
