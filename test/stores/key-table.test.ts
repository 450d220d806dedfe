import { expect, test } from "vitest";
import { KeyTable } from "../../src/stores/key-table.ts";

const COUNT = 20_000;

test("a table of very many keys gives each its own value, and is empty once all have left", () => {
  const table = new KeyTable<number>();
  for (let i = 0; i < COUNT; i++) table.set(`key-${i}`, i);

  expect(table.size).toBe(COUNT);
  for (let i = 0; i < COUNT; i++) expect(table.get(`key-${i}`)).toBe(i);
  expect([...table.values()].toSorted((a, b) => a - b)).toEqual(Array.from({ length: COUNT }, (_, i) => i));

  for (let i = 0; i < COUNT; i++) table.delete(`key-${i}`);
  expect(table.size).toBe(0);
  expect(table.get("key-1")).toBeUndefined();
  expect([...table.values()]).toEqual([]);
});

test("a key that is set again, or deleted twice, counts once", () => {
  const table = new KeyTable<string>();
  table.set("", "a");
  table.set("", "b");
  expect([table.size, table.get("")]).toEqual([1, "b"]);

  table.delete("");
  table.delete("");
  table.delete("never there");
  expect(table.size).toBe(0);
});
