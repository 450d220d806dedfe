import { expect, test } from "vitest";
import { Calls } from "../../bench/drivers/calls.ts";

/** What was resolved before this is seen after it. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("a rest begins when what is under way has been answered", async () => {
  const calls = new Calls();
  const [first, second] = [Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const asked = [calls.run(() => first.promise), calls.run(() => second.promise)];
  let isResting = false;
  const rest = calls.rest().then(() => (isResting = true));
  first.resolve("first");
  await turn();
  expect(isResting).toBe(false);
  second.reject(new Error("refused"));
  await rest;
  expect((await Promise.allSettled(asked)).map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
});

test("what is asked during a rest is asked when all wake up, and a rest of those who do nothing begins at once", async () => {
  const calls = new Calls();
  await calls.rest();
  const done: string[] = [];
  const asked = calls.run(async () => done.push("asked"));
  await turn();
  expect(done).toEqual([]);
  calls.wake();
  await asked;
  expect(done).toEqual(["asked"]);
});

test("a rest that follows right upon the last one lets nobody through", async () => {
  const calls = new Calls();
  await calls.rest();
  const done: string[] = [];
  const asked = calls.run(async () => done.push("asked"));
  calls.wake();
  await calls.rest();
  await turn();
  expect(done).toEqual([]);
  calls.wake();
  await asked;
  expect(done).toEqual(["asked"]);
});
