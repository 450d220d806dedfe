import { Hono } from "hono";
import { expect, test } from "vitest";
import { encodeAnswer } from "../../src/hono/envelope.ts";
import { idempotency, type IdempotencyOptions } from "../../src/hono/index.ts";
import { CallsInMemory } from "./support/calls-in-memory.ts";

const RESULT_BYTES_MAX = 1024 * 1024;
const EVERY_BYTE = Uint8Array.from({ length: 256 }, (_, byte) => byte);

interface Answered {
  readonly first: Response;
  readonly second: Response;
  readonly calls: CallsInMemory;
}

/** The answer to a request and to its repeat. */
async function answered(answer: () => Response, options: Partial<IdempotencyOptions> = {}): Promise<Answered> {
  const calls = new CallsInMemory();
  const app = new Hono();
  let ran = 0;
  app.use(idempotency({ calls, principal: () => "", ...options }));
  app.post("/", () => {
    ran += 1;
    return answer();
  });
  const send = async (): Promise<Response> =>
    app.request("/", { method: "POST", headers: { "Idempotency-Key": "k" }, body: "x" });
  const first = await send();
  const second = await send();
  expect(ran).toBe(1);
  expect(second.headers.get("idempotent-replayed")).toBe("true");
  return { first, second, calls };
}

async function bytesOf(response: Response): Promise<Uint8Array> {
  return new Uint8Array(await response.arrayBuffer());
}

/** Of bytes, or of what else somebody may put in. */
function streamed(...parts: readonly unknown[]): ReadableStream {
  const left = parts.values();
  return new ReadableStream({
    pull(controller) {
      const { done, value } = left.next();
      if (done === true) controller.close();
      else controller.enqueue(value);
    },
  });
}

test("bytes come back as they are", async () => {
  const headers = { "content-type": "image/png" };
  const { first, second } = await answered(() => new Response(EVERY_BYTE, { headers }));
  for (const each of [first, second]) {
    expect(await bytesOf(each)).toEqual(EVERY_BYTE);
    expect(each.headers.get("content-type")).toBe("image/png");
  }
});

test("a stream is replayed whole", async () => {
  const { first, second } = await answered(() => new Response(streamed(EVERY_BYTE, new Uint8Array(), EVERY_BYTE)));
  expect(await bytesOf(first)).toEqual(Uint8Array.of(...EVERY_BYTE, ...EVERY_BYTE));
  expect(await bytesOf(second)).toEqual(Uint8Array.of(...EVERY_BYTE, ...EVERY_BYTE));
});

test("a stream may be of text, of buffers and of views of them, as runtimes take them", async () => {
  const parts = (): unknown[] => [
    "é",
    Uint8Array.of(1, 2).buffer,
    new Uint16Array(Uint8Array.of(9, 3, 4, 9).buffer, 0, 2),
    new DataView(Uint8Array.of(9, 5, 6).buffer, 1),
  ];
  const bytes = [0xc3, 0xa9, 1, 2, 9, 3, 4, 9, 5, 6];
  const { first, second } = await answered(() => new Response(streamed(...parts())));
  for (const each of [first, second]) expect([...(await bytesOf(each))]).toEqual(bytes);

  const long = "x".repeat(RESULT_BYTES_MAX);
  const over = await answered(() => new Response(streamed(long, ...parts())));
  expect([...(await bytesOf(over.first)).subarray(long.length)]).toEqual(bytes);
  expect(over.second.status).toBe(409);
});

test("a redirect keeps its place to go to", async () => {
  const { second } = await answered(
    () => new Response(null, { status: 303, headers: { location: "/bookings/7?a=b" } }),
  );
  expect([second.status, second.headers.get("location"), second.body]).toEqual([303, "/bookings/7?a=b", null]);
});

test.each([200, 204, 205, 304])("an empty body stays empty: %i", async (status) => {
  const { first, second } = await answered(() => new Response(null, { status }));
  for (const each of [first, second]) expect([each.status, await each.text()]).toEqual([status, ""]);
});

test("an empty text is no missing body", async () => {
  const { second } = await answered(() => new Response("", { headers: { "content-type": "text/plain" } }));
  expect([second.status, await second.text(), second.headers.get("content-type")]).toEqual([200, "", "text/plain"]);
});

test("cookies and what belongs to the moment go to the first caller alone", async () => {
  const { first, second, calls } = await answered(() => {
    const headers = { "content-type": "a/b", date: "then", "x-request-id": "1", vary: "origin", link: "<a>" };
    const response = new Response("a", { headers });
    response.headers.append("set-cookie", "a=secret-1");
    response.headers.append("set-cookie", "b=secret-2");
    return response;
  });
  expect(first.headers.getSetCookie()).toEqual(["a=secret-1", "b=secret-2"]);
  expect(first.headers.get("x-request-id")).toBe("1");
  expect([...second.headers.keys()].toSorted()).toEqual(["content-type", "idempotent-replayed", "link"]);
  const stored = calls.records.get(calls.onlyKey)?.done?.result;
  expect(new TextDecoder().decode(stored)).not.toContain("secret");
});

test("what belongs to the answer comes back with it", async () => {
  const headers = {
    "cache-control": "no-cache",
    "content-disposition": 'attachment; filename="a.gz"',
    "content-encoding": "gzip",
    "content-language": "de",
    "content-location": "/a.gz",
    "content-type": "text/plain",
    etag: '"v1"',
    "last-modified": "Mon, 30 Nov 2026 12:00:00 GMT",
    link: '</b>; rel="next", </c>; rel="last"',
    location: "/a",
  };
  const { second } = await answered(() => new Response("a", { headers }));
  expect(Object.fromEntries(second.headers)).toEqual({ ...headers, "idempotent-replayed": "true" });
});

test("which headers come back can be chosen", async () => {
  const { second } = await answered(() => new Response("a", { headers: { "x-mine": "1", etag: '"v"' } }), {
    headers: ["X-Mine"],
  });
  expect([second.headers.get("x-mine"), second.headers.has("etag")]).toEqual(["1", false]);
});

test("an answer of 1 MiB as it is stored is kept, and of one byte more only that it was given", async () => {
  const headers = { "content-type": "text/plain" };
  const fixed = encodeAnswer({ status: 200, headers: [["Content-Type", "text/plain"]], body: undefined }).byteLength;
  const fits = await answered(() => new Response("x".repeat(RESULT_BYTES_MAX - fixed), { headers }));
  expect(fits.calls.records.get(fits.calls.onlyKey)?.done?.result.byteLength).toBe(RESULT_BYTES_MAX);
  expect((await bytesOf(fits.second)).byteLength).toBe(RESULT_BYTES_MAX - fixed);

  const over = await answered(() => new Response("x".repeat(RESULT_BYTES_MAX - fixed + 1), { headers }));
  expect((await bytesOf(over.first)).byteLength).toBe(RESULT_BYTES_MAX - fixed + 1);
  expect(over.second.status).toBe(409);
  expect(over.second.headers.get("content-type")).toBe("application/problem+json");
  expect(await over.second.json()).toMatchObject({ code: "answer_not_kept", retryable: false });
});

test("a long stream reaches its caller whole, and its repeat is not carried out again", async () => {
  const part = new Uint8Array(300_000).fill(65);
  const { first, second } = await answered(() => new Response(streamed(part, part, part, part, part)));
  expect((await bytesOf(first)).byteLength).toBe(5 * part.byteLength);
  expect(await second.json()).toMatchObject({ code: "answer_not_kept" });
});

test("a caller that leaves in the middle of a long stream ends the stream", async () => {
  const left = Promise.withResolvers<unknown>();
  const part = new Uint8Array(RESULT_BYTES_MAX);
  const endless = new ReadableStream({ pull: (controller) => controller.enqueue(part), cancel: left.resolve });
  const { first } = await answered(() => new Response(endless));
  const reader = first.body!.getReader();
  await reader.read();
  await reader.cancel("enough");
  expect(await left.promise).toBe("enough");
});

test("headers that are too large to keep are not kept", async () => {
  const { first, second } = await answered(
    () => new Response("a", { headers: { link: "x".repeat(RESULT_BYTES_MAX) } }),
  );
  expect(await first.text()).toBe("a");
  expect(await second.json()).toMatchObject({ code: "answer_not_kept" });
});

test.each<[string, () => Response | undefined, string]>([
  [
    "a stream that breaks",
    () => new Response(new ReadableStream({ pull: (controller) => controller.error(new Error("broken")) })),
    "broken",
  ],
  ["a stream of no bytes", () => new Response(streamed({})), "a body must be a stream of bytes"],
  ["nothing", () => undefined, "not finalized"],
])("%s is no answer: the next one carries it out", async (_what, answer, error) => {
  const calls = new CallsInMemory();
  const app = new Hono();
  app.onError(({ message }, c) => c.text(message, 500));
  app.use(idempotency({ calls, principal: () => "" }));
  // As a handler in JavaScript may: its type forbids to answer nothing.
  app.post("/", () => answer() as Response);
  const refused = await app.request("/", { method: "POST", headers: { "Idempotency-Key": "k" } });
  expect([refused.status, await refused.text()]).toEqual([500, expect.stringContaining(error)]);
  expect(calls.records.size).toBe(0);
});
