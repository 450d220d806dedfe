import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { Child } from "../conformance/child.ts";
import { node } from "../conformance/runtimes.ts";
import { startServer, temporaryFolder } from "../conformance/server.ts";

const EXAMPLE = fileURLToPath(new URL("../../examples/webhook/server.ts", import.meta.url));

test("an event that is delivered to two servers at once, and again later, is processed once", async () => {
  using marks = temporaryFolder();
  await using latchkey = await startServer(node);
  const env = { LATCHKEY_URL: latchkey.url, MARKS: marks.path };
  await using one = new Child([process.execPath, EXAMPLE], env);
  await using two = new Child([process.execPath, EXAMPLE], env);
  const urls = [await one.printed(/http:\S+/), await two.printed(/http:\S+/)];
  const deliver = async (url: string, id: string): Promise<string> => {
    const response = await fetch(url, { method: "POST", body: JSON.stringify({ id }) });
    return response.text();
  };

  const together = await Promise.all([...urls, ...urls].map((url) => deliver(url, "evt_1")));
  expect(together.toSorted()).toEqual(["processed\n", "repeated\n", "repeated\n", "repeated\n"]);
  expect(await Promise.all(urls.map((url) => deliver(url, "evt_1")))).toEqual(["repeated\n", "repeated\n"]);
  expect(await deliver(urls[0]!, "evt_2")).toBe("processed\n");

  const charged = [one, two].flatMap(({ output }) => output.match(/charging .*/g) ?? []);
  expect(charged.toSorted()).toEqual(["charging the customer for evt_1", "charging the customer for evt_2"]);
  expect(readdirSync(marks.path).toSorted()).toEqual(["evt_1", "evt_2"]);
});
