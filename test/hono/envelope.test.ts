import { expect, test } from "vitest";
import { type Answer, decodeAnswer, encodeAnswer } from "../../src/hono/envelope.ts";

const EVERY_BYTE = Uint8Array.from({ length: 256 }, (_, byte) => byte);

test.each<Answer>([
  { status: 200, headers: [["Content-Type", "application/octet-stream"]], body: EVERY_BYTE },
  { status: 204, headers: [], body: new Uint8Array() },
  {
    status: 303,
    headers: [
      ["Location", "/a?b=ä"],
      ["Link", "<a>, <b>"],
    ],
    body: new Uint8Array(),
  },
  { status: 599, headers: [["ETag", '"x"']], body: undefined },
])("status $status comes out as it went in", (answer) => {
  expect(decodeAnswer(encodeAnswer(answer))).toEqual(answer);
});

test("the form is fixed: stored answers must be readable by later versions", () => {
  const bytes = encodeAnswer({ status: 201, headers: [["A", "b"]], body: new TextEncoder().encode("hi") });
  expect([...bytes.subarray(0, 8)]).toEqual([1, 0, 0, 201, 0, 0, 0, 11]);
  expect(new TextDecoder().decode(bytes.subarray(8))).toBe('[["A","b"]]hi');
});

test("a part of a larger buffer is read as well", () => {
  const bytes = encodeAnswer({ status: 200, headers: [], body: EVERY_BYTE });
  const larger = new Uint8Array(bytes.byteLength + 20).fill(7);
  larger.set(bytes, 10);
  expect(decodeAnswer(larger.subarray(10, 10 + bytes.byteLength))?.body).toEqual(EVERY_BYTE);
});

test("what was not written here is no answer", () => {
  const good = encodeAnswer({ status: 200, headers: [["A", "b"]], body: EVERY_BYTE });
  const changed = (at: number, value: number): Uint8Array => good.with(at, value);
  for (const bytes of [
    new Uint8Array(),
    good.subarray(0, 7),
    good.subarray(0, 12),
    changed(0, 2),
    changed(1, 2),
    changed(4, 255),
    changed(8, 0x7b),
    changed(8, 0xff),
    new TextEncoder().encode('{"result":true}'),
  ]) {
    expect(decodeAnswer(bytes)).toBeUndefined();
  }
});
