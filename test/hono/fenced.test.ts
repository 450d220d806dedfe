import { Hono } from "hono";
import { describe, expect, test } from "vitest";
import { fenced, type FencedOptions, memoryFences } from "../../src/hono/index.ts";

function appWith(options: Partial<FencedOptions> = {}): (fence?: string, doc?: string) => Promise<Response> {
  const app = new Hono();
  app.use("/:doc", fenced({ key: (c) => c.req.param("doc") ?? "", ...options }));
  app.put("/:doc", (c) => c.text("written"));
  return async (fence, doc = "a") =>
    app.request(`/${doc}`, { method: "PUT", headers: fence === undefined ? {} : { "Latchkey-Fence": fence } });
}

test("a fence lower than the highest one seen for its key is refused, an equal one is not", async () => {
  const put = appWith();
  expect((await put("7")).status).toBe(200);
  expect((await put("7")).status).toBe(200);
  expect((await put("9")).status).toBe(200);
  const late = await put("8");
  expect(late.status).toBe(412);
  expect(late.headers.get("content-type")).toBe("application/problem+json");
  expect(await late.json()).toMatchObject({ code: "stale_fence", status: 412, retryable: false });
  expect((await put("8", "b")).status).toBe(200);
  expect((await put("9")).status).toBe(200);
});

test("fences are compared as numbers", async () => {
  const put = appWith();
  expect((await put("9")).status).toBe(200);
  expect((await put("10")).status).toBe(200);
  expect((await put("9")).status).toBe(412);
});

test("a request without a fence is refused, unless it is let through", async () => {
  expect(await (await appWith()(undefined)).json()).toMatchObject({ code: "fence_missing", status: 400 });
  const put = appWith({ required: false });
  expect((await put("7")).status).toBe(200);
  expect((await put(undefined)).status).toBe(200);
  expect((await put("6")).status).toBe(412);
});

test.each(["", "-1", "1.5", "1e3", "abc", "0x10", "1, 2", String(2 ** 53), "1".repeat(17)])(
  "%j is no fence",
  async (fence) => {
    const answer = await appWith({ required: false })(fence);
    expect(answer.status).toBe(400);
    expect(await answer.json()).toMatchObject({ code: "fence_malformed" });
  },
);

test("the largest fence is one", async () => {
  const put = appWith();
  expect((await put(String(Number.MAX_SAFE_INTEGER))).status).toBe(200);
  expect((await put(String(Number.MAX_SAFE_INTEGER - 1))).status).toBe(412);
});

test("a store of one's own decides, and when it fails nothing is let through", async () => {
  const seen: [string, number][] = [];
  let answer = async (): Promise<boolean> => true;
  const put = appWith({
    store: {
      raise(key, fence) {
        seen.push([key, fence]);
        return answer();
      },
    },
  });
  expect((await put("7")).status).toBe(200);
  answer = async () => false;
  expect((await put("7")).status).toBe(412);
  answer = () => Promise.reject(new Error("down"));
  const failed = await put("7");
  expect([failed.status, failed.headers.get("retry-after")]).toEqual([503, "1"]);
  expect(seen).toEqual([
    ["a", 7],
    ["a", 7],
    ["a", 7],
  ]);
});

describe("in memory", () => {
  test("no key's fence is forgotten: above the limit new keys are refused, and the old ones guarded", async () => {
    const put = appWith({ store: memoryFences({ keysMax: 2 }) });
    expect((await put("7", "a")).status).toBe(200);
    expect((await put("7", "b")).status).toBe(200);
    expect((await put("7", "c")).status).toBe(503);
    expect((await put("8", "a")).status).toBe(200);
    expect((await put("7", "a")).status).toBe(412);
  });

  test("two guards have fences of their own", async () => {
    const [one, other] = [appWith(), appWith()];
    expect((await one("7")).status).toBe(200);
    expect((await other("6")).status).toBe(200);
  });
});
