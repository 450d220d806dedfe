import { expect, test } from "vitest";
import { requestFingerprint } from "../../src/hono/fingerprint.ts";

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly type?: string | null;
  readonly body?: string | Uint8Array<ArrayBuffer>;
}

function of({ method = "POST", path = "/a", type = "application/json", body = "{}" }: Sent): Promise<string> {
  const headers = type === null ? {} : { "content-type": type };
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  return requestFingerprint(new Request(`http://host${path}`, { method, headers }), bytes);
}

test.each<[Sent, Sent]>([
  [{ body: '{"a":1,"b":{"c":2,"d":3}}' }, { body: ' { "b" : {"d":3, "c":2}, "a":1 }\n' }],
  [{ body: '{"a":1.0}' }, { body: '{"a":1}' }],
  [{ body: String.raw`"ä"` }, { body: '"ä"' }],
  [{ type: "application/json" }, { type: "Application/JSON; charset=utf-8" }],
  [{ type: "application/json" }, { type: "application/merge-patch+json" }],
  [
    { type: "text/plain", body: "a" },
    { type: "text/plain;charset=utf-8", body: "a" },
  ],
])("the same: %j and %j", async (one, other) => {
  expect(await of(one)).toBe(await of(other));
});

test.each<[Sent, Sent]>([
  [{ body: "[1,2]" }, { body: "[2,1]" }],
  [{ body: '{"a":1}' }, { body: '{"a":"1"}' }],
  [{ body: '{"a":null}' }, { body: "{}" }],
  [{ body: "[[]]" }, { body: "[{}]" }],
  [{ body: "0" }, { body: "false" }],
  [{ body: "9007199254740992" }, { body: "9007199254740993" }],
  [{ body: "1e999" }, { body: "2e999" }],
  [{ body: '{"__proto__":{"a":1}}' }, { body: "{}" }],
  [{ body: "" }, { body: "{}" }],
  [{ body: "{" }, { body: "{ " }],
  [{ method: "POST" }, { method: "PUT" }],
  [{ path: "/a" }, { path: "/b" }],
  [{ path: "/a" }, { path: "/a?b=1" }],
  [{ path: "/a?b=1" }, { path: "/a?b=2" }],
  [{ path: "/a%2Fb" }, { path: "/a/b" }],
  [
    { type: "text/plain", body: '{"a":1}' },
    { type: "application/json", body: '{"a":1}' },
  ],
  [
    { type: "text/plain", body: '{"a":1,"b":2}' },
    { type: "text/plain", body: '{"b":2,"a":1}' },
  ],
  [
    { type: null, body: "a" },
    { type: "text/plain", body: "a" },
  ],
  [
    { type: "image/png", body: Uint8Array.of(0xff) },
    { type: "image/png", body: Uint8Array.of(0xfe) },
  ],
  [{ body: Uint8Array.of(0x22, 0xff, 0x22) }, { body: Uint8Array.of(0x22, 0xfe, 0x22) }],
])("not the same: %j and %j", async (one, other) => {
  expect(await of(one)).not.toBe(await of(other));
});

test("JSON that is nested too deep to be understood is compared as it is", async () => {
  const nested = (blank: string): string => "[".repeat(200_000) + blank + "]".repeat(200_000);
  expect(await of({ body: nested("") })).toBe(await of({ body: nested("") }));
  expect(await of({ body: nested("") })).not.toBe(await of({ body: nested(" ") }));
});

test("it is short, however large the body", async () => {
  expect((await of({ body: JSON.stringify("x".repeat(1_000_000)) })).length).toBe(43);
});
