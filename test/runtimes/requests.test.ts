import { describe, expect, test } from "vitest";
import { isLoopback, urlOf } from "../../src/address.ts";
import { isOurs, isUpgrade } from "../../src/requests.ts";

describe("requests that are Latchkey's", () => {
  test.each([
    "/v1/session",
    "/v1/latch/a%2Fb/acquire?space=x",
    "/v1/",
    "/healthz",
    "/readyz?x",
    "/metrics",
    "/openapi.json",
    "http://127.0.0.1:8787/v1/latch/k",
    "https://example.com/healthz",
  ])("%s", (url) => {
    expect(isOurs(url)).toBe(true);
  });

  test.each([
    "/",
    "/v1",
    "/v1x/",
    "/healthz/",
    "/healthzz",
    "/app/v1/latch/k",
    "/?x=/v1/",
    "http://v1/",
    "http://example.com",
    "http://example.com?a=/v1/",
    "http://healthz",
    "*",
    "",
  ])("%s is not", (url) => {
    expect(isOurs(url)).toBe(false);
  });
});

test("only the upgrade to a WebSocket is one, however it is written", () => {
  const asks = (upgrade: string) => isUpgrade(new Request("http://localhost/v1/session", { headers: { upgrade } }));

  expect([asks("websocket"), asks("WebSocket")]).toEqual([true, true]);
  expect([asks("h2c"), isUpgrade(new Request("http://localhost/"))]).toEqual([false, false]);
});

test("addresses that only this machine reaches", () => {
  for (const address of ["127.0.0.1", "127.1.2.3", "localhost", "::1"]) expect(isLoopback(address)).toBe(true);
  for (const address of ["0.0.0.0", "::", "128.0.0.1", "127.0.0.1.evil", "10.0.0.1"]) {
    expect(isLoopback(address)).toBe(false);
  }
});

test("a URL of an IPv6 address has brackets", () => {
  expect(urlOf("::1", 80)).toBe("http://[::1]:80");
  expect(urlOf("[::1]", 80)).toBe("http://[::1]:80");
  expect(urlOf("localhost", 80)).toBe("http://localhost:80");
});
