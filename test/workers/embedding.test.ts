/** The example of a Worker of one's own, from the built package: what the README shows. */

import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createTestHarness } from "wrangler";
import { Caller } from "../conformance/caller.ts";

const root = fileURLToPath(new URL("../../examples/workers", import.meta.url));
const harness = createTestHarness({ root, workers: [{ configPath: "wrangler.jsonc" }] });
let url = "";

beforeAll(async () => {
  const listening = await harness.listen();
  url = listening.url.origin;
}, 60_000);

afterAll(() => harness.close());

test("it serves Latchkey's routes, its own page, and code under a lock", async () => {
  const caller = new Caller(url);
  const { body } = await caller.acquire("report", { ttl: 60_000 });
  expect(body.status).toBe("acquired");
  expect((await caller.request("GET", "/")).body).toBe("my own page\n");
  expect((await caller.request("GET", "/report")).status).toBe(409);
  await caller.release("report", { token: body.token });
  const report = await caller.request("GET", "/report");
  expect(report.body).toMatch(/^written with fence \d+\n$/);
  expect((await caller.status("report")).body.status).toBe("free");
});
