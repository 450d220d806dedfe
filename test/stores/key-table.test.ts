import { expect, test } from "vitest";
import { KeyTable } from "../../src/stores/key-table.ts";

// So many are in one Map, one more are in many, and the last are very many.
test.each([4096, 4097, 20_000])(
  "a table of %i keys gives each its own value, and can be filled again once all have left",
  (count) => {
    const table = new KeyTable<number>();
    for (let times = 0; times < 2; times++) {
      for (let i = 0; i < count; i++) table.set(`key-${i}`, i);

      expect(table.size).toBe(count);
      for (let i = 0; i < count; i++) expect(table.get(`key-${i}`)).toBe(i);
      expect([...table.values()].toSorted((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, i) => i));

      for (let i = 0; i < count; i++) table.delete(`key-${i}`);
      expect(table.size).toBe(0);
      expect(table.get("key-1")).toBeUndefined();
      expect([...table.values()]).toEqual([]);
    }
  },
);

test.each([0, 5000])("among %i others a key that is set again, or deleted twice, counts once", (others) => {
  const table = new KeyTable<string>();
  for (let i = 0; i < others; i++) table.set(`other-${i}`, "o");
  table.set("", "a");
  table.set("", "b");
  expect([table.size, table.get("")]).toEqual([others + 1, "b"]);

  table.delete("");
  table.delete("");
  table.delete("never there");
  expect(table.size).toBe(others);
});
