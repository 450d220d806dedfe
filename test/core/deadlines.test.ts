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
      const first = deadlines.first as Due;
      deadlines.remove(first);
      items.delete(first);
    }
    const sorted = [...items].sort((a, b) => a.deadline - b.deadline || a.order - b.order);
    expect(deadlines.first).toBe(sorted[0]);
    expect(deadlines.count).toBe(items.size);
  }
});

test("taking out what is not in does nothing", () => {
  const deadlines = new Deadlines<Due>();
  const item: Due = { deadline: 0, order: 1, slot: -1 };
  deadlines.remove(item);
  deadlines.set(item, Number.POSITIVE_INFINITY);
  expect(deadlines.count).toBe(0);
});
