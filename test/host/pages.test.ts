import { expect, test } from "vitest";
import { KEYS, World } from "./support/world.ts";

const pages = (request: Request): Response | undefined =>
  new URL(request.url).pathname === "/mine" ? new Response("my own page") : undefined;

test("pages beside the locks are asked for every path at which Latchkey has nothing, with any method", async () => {
  const { host } = new World({ pages });
  for (const method of ["GET", "PUT"]) {
    expect(await (await host.fetch(new Request("http://127.0.0.1/mine", { method }))).text()).toBe("my own page");
  }
  expect((await host.fetch(new Request("http://127.0.0.1/other"))).status).toBe(404);
  expect((await host.fetch(new Request("http://127.0.0.1/healthz"))).status).toBe(200);
});

test("pages need no API key", async () => {
  const { host } = new World({ pages, keys: KEYS });
  expect((await host.fetch(new Request("http://example.com/mine"))).status).toBe(200);
  expect((await host.fetch(new Request("http://example.com/v1/latch/k"))).status).toBe(401);
});

test("pages are behind the checks of Host and Origin", async () => {
  const { host } = new World({ pages });
  expect((await host.fetch(new Request("http://evil.example/mine"))).status).toBe(403);
  const headers = { origin: "http://evil.example" };
  expect((await host.fetch(new Request("http://127.0.0.1/mine", { headers }))).status).toBe(403);
});

test("pages that fail are a 500, and nobody is told why", async () => {
  const world = new World({
    pages: () => {
      throw new Error("a secret of the disk");
    },
  });
  const response = await world.host.fetch(new Request("http://127.0.0.1/mine"));
  expect(response.status).toBe(500);
  expect(await response.text()).not.toContain("secret");
});
