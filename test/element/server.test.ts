import { expect, test } from "vitest";

test("where there is no page the element can be imported and defined, and nothing happens", async () => {
  // By its address: the names of a page, which its types need, are not known to the tests of servers.
  const source = new URL("../../src/element/index.ts", import.meta.url).href;
  const { defineLatchGate } = (await import(source)) as { readonly defineLatchGate: (client: object) => void };
  expect("customElements" in globalThis).toBe(false);
  expect(defineLatchGate({})).toBeUndefined();
});
