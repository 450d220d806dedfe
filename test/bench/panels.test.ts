import { expect, test } from "vitest";
import { SUBJECTS } from "../../bench/harness/subjects.ts";
import { panelsOf } from "../../bench/report/panels.ts";
import { spreadApart } from "../../bench/report/svg.ts";

const floors = ["relay on bun", "relay on deno", "relay on node", "relay on workerd", "mutex on bun", "mutex on node"];

test("a few lines share one picture", () => {
  const few = ["relay on bun", "bun ws-raw", "bun ws", "redis-list"];
  expect(panelsOf(few)).toEqual([{ title: "", subjects: few }]);
});

test("many lines are spread over several pictures: each is drawn, and one of ours in all of them", () => {
  const all = [...floors, ...SUBJECTS.map(({ name }) => name)];
  const panels = panelsOf(all);
  expect(panels.length).toBe(3);
  expect(new Set(panels.flatMap(({ subjects }) => subjects))).toEqual(new Set(all));
  for (const { subjects } of panels) expect(subjects).toContain("bun ws-raw");
});

test("no picture is made for one or two of our clients alone", () => {
  const panels = panelsOf(["bun ws-raw", "deno ws-raw", "node ws-raw", "bun ws", "redis-list", "redis-lua", ...floors]);
  expect(panels.find(({ subjects }) => subjects.includes("bun ws"))?.subjects).toContain("relay on bun");
});

test("names at the ends of lines keep their distance and their order, and none is below the picture", () => {
  const places = spreadApart([50, 52, 10, 99], 12, 100);
  expect(places).toEqual([50, 62, 10, 99]);
  const crowded = spreadApart([100, 99, 98], 12, 100);
  expect(crowded).toEqual([100, 88, 76]);
});
