import { expect, test } from "vitest";
import { Deadlines, type Due } from "../../src/core/deadlines.ts";

test("what is first is always what a sort would put first, through any adding, moving and leaving", () => {
  let random = 12345;
  const draw = (below: number): number => {
    random = (Math.imul(random, 1103515245) + 12345) >>> 0;
    return (random >>> 8) % below;
  };
  const deadlines = new Deadlines<Due>();
  const items = new Set<Due>();
  for (let step = 0; step < 20_000; step++) {
    const known = [...items];
    const some = known[draw(known.length + 1)];
    if (some === undefined || draw(3) === 0) {
      const item: Due = { deadline: 0, order: step, slot: -1 };
      deadlines.set(item, draw(50));
      items.add(item);
    } else if (draw(2) === 0) {
      deadlines.set(some, draw(50));
    } else {
      if (draw(2) === 0) deadlines.remove(some);
      else deadlines.set(some, Number.POSITIVE_INFINITY);
      items.delete(some);
      expect(some.slot).toBe(-1);
    }
    if (items.size > 40) {
      const first = deadlines.firstDue(50) as Due;
      deadlines.remove(first);
      items.delete(first);
    }
    const sorted = [...items].sort((a, b) => a.deadline - b.deadline || a.order - b.order);
    if (draw(2) === 0) expect(deadlines.next()).toBe(sorted[0]?.deadline ?? Number.POSITIVE_INFINITY);
    const now = draw(50);
    expect(deadlines.firstDue(now)).toBe(sorted.find(({ deadline }) => deadline <= now));
    expect(deadlines.count).toBe(items.size);
  }
});

test("a look for the next deadline is never too late, however many were moved to later times, and ends by being exact", () => {
  const deadlines = new Deadlines<Due>();
  const items = Array.from({ length: 1000 }, (_, order): Due => ({ deadline: 0, order, slot: -1 }));
  for (const item of items) deadlines.set(item, item.order);
  for (const item of items) deadlines.set(item, 5000 - item.order);
  const looks: number[] = [];
  while (looks.at(-1) !== 4001) looks.push(deadlines.next());
  expect(looks).toEqual(looks.toSorted((a, b) => a - b));
  // Each puts the same number of them right.
  expect(looks).toHaveLength(Math.ceil(1000 / (looks[0] ?? 0)));
  expect(deadlines.firstDue(4000)).toBeUndefined();
  expect(deadlines.firstDue(4001)).toBe(items[999]);
});

test("a look by someone who looks again soon enough moves nothing", () => {
  const deadlines = new Deadlines<Due>();
  const item: Due = { deadline: 0, order: 1, slot: -1 };
  deadlines.set(item, 10);
  deadlines.set(item, 20);
  expect(deadlines.next(10)).toBe(10);
  expect(deadlines.next(11)).toBe(20);
});

test("what has left and comes back is due at its new time alone, whatever stood where", () => {
  const deadlines = new Deadlines<Due>();
  const items = Array.from({ length: 300 }, (_, order): Due => ({ deadline: 0, order, slot: -1 }));
  for (let round = 0; round < 20; round++) {
    for (const item of items) deadlines.set(item, 1000 + ((item.order * 7 + round) % 300));
    for (const item of items) if ((item.order + round) % 3 !== 0) deadlines.remove(item);
    for (const item of items) if ((item.order + round) % 3 === 1) deadlines.set(item, 500 + item.order);
    const inside = items.filter(({ slot }) => slot !== -1).sort((a, b) => a.deadline - b.deadline || a.order - b.order);
    expect(deadlines.count).toBe(inside.length);
    const served: Due[] = [];
    for (let due = deadlines.firstDue(900); due !== undefined; due = deadlines.firstDue(900)) {
      served.push(due);
      deadlines.remove(due);
    }
    expect(served).toEqual(inside.filter(({ deadline }) => deadline <= 900));
    expect(deadlines.count).toBe(inside.length - served.length);
  }
});

test("taking out what is not in does nothing", () => {
  const deadlines = new Deadlines<Due>();
  const item: Due = { deadline: 0, order: 1, slot: -1 };
  deadlines.remove(item);
  deadlines.set(item, Number.POSITIVE_INFINITY);
  expect(deadlines.count).toBe(0);
});
