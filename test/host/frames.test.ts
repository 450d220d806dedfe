import { describe, expect, test } from "vitest";
import { CLOSE_REASON_BYTES_MAX } from "../../src/protocol/limits.ts";
import { World } from "./support/world.ts";

const FRAME_BYTES_MAX = 2 * 1024 * 1024;
const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

describe("a bad frame within a session", () => {
  test.each([
    ["no JSON", "{", "bad_json"],
    ["an empty frame", "", "bad_json"],
    ["a bare word", "ping", "bad_json"],
    ["a number", "7", "bad_request"],
    ["null", "null", "bad_request"],
    ["an array", "[]", "bad_request"],
    ["no type", "{}", "bad_request"],
    ["a type that is no text", '{"t":1}', "bad_request"],
    ["an unknown type", '{"t":"dance"}', "unknown_frame"],
    ["the name of a property of every object", '{"t":"constructor"}', "unknown_frame"],
    ["no id", '{"t":"acquire","key":"k"}', "bad_request"],
    ["an empty id", '{"t":"acquire","id":"","key":"k"}', "bad_request"],
    ["an id that is no text", '{"t":"acquire","id":7,"key":"k"}', "bad_request"],
    ["an id of 256 characters", `{"t":"acquire","id":"${"i".repeat(256)}","key":"k"}`, "bad_request"],
  ])("without a usable id is answered by an error and loses nothing: %s", (_, text, code) => {
    const socket = new World().session();
    socket.acquire("k");
    socket.news();
    socket.say(text);
    expect(socket.news()).toEqual([{ t: "error", code, detail: expect.any(String) }]);
    expect(socket.status("k").status).toBe("held");
  });

  test.each([
    ["an unknown type", { t: "dance" }, "unknown_frame"],
    ["no key", { t: "acquire" }, "bad_key"],
    ["a key that is no text", { t: "status", key: 5 }, "bad_key"],
    ["no token", { t: "release", key: "k" }, "bad_request"],
    ["no ttl to extend by", { t: "extend", key: "k", token: "x" }, "bad_request"],
    ["a wrong mode", { t: "acquire", key: "k", mode: "writer" }, "bad_request"],
    ["a flag that is no boolean", { t: "acquire", key: "k", steal: 1 }, "bad_request"],
    ["a limit without shared", { t: "acquire", key: "k", limit: 2 }, "bad_request"],
    ["a shared steal", { t: "acquire", key: "k", mode: "shared", steal: true }, "bad_request"],
    ["a steal with a token", { t: "acquire", key: "k", token: "x", steal: true }, "bad_request"],
    ["nest without a token", { t: "acquire", key: "k", nest: true }, "bad_request"],
    ["keep without a ttl", { t: "acquire", key: "k", keep: true }, "bad_request"],
    ["a message without a steal", { t: "acquire", key: "k", message: "why" }, "bad_request"],
  ])("with an id is refused under it: %s", (_, frame, code) => {
    const socket = new World().session();
    const refused = socket.ask(frame);
    expect(refused).toEqual({ t: "refused", id: "r1", code, detail: expect.any(String), retryable: false });
  });

  test("is answered in words that never repeat what was sent", () => {
    const socket = new World().session();
    const secret = "hunter2-hunter2";
    socket.news();
    socket.say(`{"t":"release","id":"a","key":"k","token":"${secret}"`);
    socket.say(`{"t":"${secret}"}`);
    socket.say({ t: "release", id: "a", key: "k", token: [secret] });
    socket.say({ t: "acquire", id: "a", key: "k", mode: secret });
    socket.say({ t: "revoke_session", id: "a", session: { secret } });
    expect(socket.sent).toHaveLength(6);
    expect(socket.sent.join()).not.toContain(secret);
  });

  test("nested however deep is refused, and the session lives on", () => {
    const world = new World();
    const socket = world.session();
    for (const depth of [100, 10_000, 200_000]) {
      socket.say(`{"t":"acquire","id":"a","key":"k","meta":${nested(depth)}}`);
    }
    expect(socket.status("other").status).toBe("free");
    expect(world.errors).toEqual([]);
  });

  test("has unknown members that are ignored", () => {
    expect(new World().session().acquire("k", { colour: "green", "": null }).t).toBe("granted");
  });
});

describe("limits of a frame's fields, at the limit and one past it", () => {
  const accepted = ["granted", "queued"];

  test.each([
    ["an empty key", { key: "" }, true],
    ["a key of 255 bytes", { key: "k".repeat(255) }, true],
    ["a key of 256 bytes", { key: "k".repeat(256) }, false],
    ["a key of 255 bytes in characters of three", { key: "日".repeat(85) }, true],
    ["a key of 258 bytes in characters of three", { key: "日".repeat(86) }, false],
    ["a key of 255 bytes with characters of four", { key: `${"😀".repeat(63)}abc` }, true],
    ["a key of 256 bytes in characters of four", { key: "😀".repeat(64) }, false],
    ["a key of lone surrogates in 255 bytes", { key: "\ud800".repeat(85) }, true],
    ["a key of lone surrogates in 258 bytes", { key: "\ud800".repeat(86) }, false],
    ["an id of 255 characters", { id: "i".repeat(255) }, true],
    ["a ttl of 99", { ttl: 99 }, false],
    ["a ttl of 100", { ttl: 100 }, true],
    ["a ttl of a day", { ttl: 86_400_000 }, true],
    ["a ttl past a day", { ttl: 86_400_001 }, false],
    ["a ttl of 0", { ttl: 0 }, false],
    ["a negative ttl", { ttl: -1 }, false],
    ["a ttl of 1.5", { ttl: 1.5 }, false],
    ["a fractional ttl", { ttl: 1000.5 }, false],
    ["a ttl as text", { ttl: "5" }, false],
    ["a ttl of 1e12", { ttl: 1e12 }, false],
    ["a ttl of null", { ttl: null }, false],
    ["a timeout of 0", { timeout: 0 }, true],
    ["a timeout of a day", { timeout: 86_400_000 }, true],
    ["a timeout past a day", { timeout: 86_400_001 }, false],
    ["a negative timeout", { timeout: -1 }, false],
    ["a timeout of null", { timeout: null }, false],
    ["meta of 1024 bytes", { meta: "m".repeat(1022) }, true],
    ["meta of 1025 bytes", { meta: "m".repeat(1023) }, false],
    ["meta of 1024 bytes in characters of two", { meta: "é".repeat(511) }, true],
    ["meta of 1026 bytes in characters of two", { meta: "é".repeat(512) }, false],
    ["meta of null", { meta: null }, true],
    ["a message of 1024 bytes", { steal: true, message: "m".repeat(1024) }, true],
    ["a message of 1025 bytes", { steal: true, message: "m".repeat(1025) }, false],
    ["a message of 1025 bytes in characters of three", { steal: true, message: `${"日".repeat(341)}mm` }, false],
    ["a limit of 1", { mode: "shared", limit: 1 }, true],
    ["a limit of 0", { mode: "shared", limit: 0 }, false],
    ["a limit of 100000", { mode: "shared", limit: 100_000 }, true],
    ["a limit of 100001", { mode: "shared", limit: 100_001 }, false],
    ["a token of 129 characters", { token: "t".repeat(129) }, false],
    ["an empty token", { token: "" }, false],
  ])("%s", (_, fields, isAccepted) => {
    const answer = new World().session().ask({ t: "acquire", key: "k", ...fields });
    if (isAccepted) expect(accepted).toContain(answer.t);
    else expect(answer).toMatchObject({ t: "refused", retryable: false });
  });

  test.each([
    ["a message of 1024 bytes", { message: "m".repeat(1024) }, true],
    ["a message of 1025 bytes", { message: "m".repeat(1025) }, false],
    ["a message of 1025 bytes in characters of three", { message: `${"日".repeat(341)}mm` }, false],
    ["a claim of 255 characters", { claim: "c".repeat(255) }, true],
    ["a claim of 256 characters", { claim: "c".repeat(256) }, false],
    ["an empty claim", { claim: "" }, false],
    ["no claim", { claim: undefined }, false],
    ["a withdrawal", { withdraw: true }, true],
    ["a withdrawal that is no boolean", { withdraw: 1 }, false],
    ["a withdrawal with a message", { withdraw: true, message: "m" }, false],
    ["no withdrawal with a message", { withdraw: false, message: "m" }, true],
  ])("asking with %s", (_, fields, isAccepted) => {
    const answer = new World().session().ask({ t: "request_access", claim: "c", ...fields });
    expect(answer).toMatchObject({ t: "refused", code: isAccepted ? "not_waiting" : "bad_request", retryable: false });
  });

  test.each([
    ["a session of 256 characters", { session: "s".repeat(256) }, true],
    ["a session of 257 characters", { session: "s".repeat(257) }, false],
    ["an empty session", { session: "" }, false],
    ["no session", { session: undefined }, false],
    ["a session that is no text", { session: 7 }, false],
    ["a token of 128 characters", { token: "t".repeat(128) }, true],
    ["a token of 129 characters", { token: "t".repeat(129) }, false],
  ])("handing over with %s", (_, fields, isAccepted) => {
    const answer = new World().session().ask({ t: "hand_to", key: "k", token: "t", session: "s", ...fields });
    expect(answer).toMatchObject({ t: "refused", code: isAccepted ? "unknown_token" : "bad_request" });
  });

  test.each([
    [1, true],
    [1000, true],
    [0, false],
    [1001, false],
    [1.5, false],
    ["5", false],
  ])("a list of %j keys", (count, isAccepted) => {
    expect(new World().session().ask({ t: "list", count }).t).toBe(isAccepted ? "list" : "refused");
  });

  test("two keys that differ only in a lone surrogate are two keys", () => {
    const socket = new World().session();
    expect(socket.acquire("\ud800", { timeout: 0 }).t).toBe("granted");
    expect(socket.acquire("\ufffd", { timeout: 0 }).t).toBe("granted");
    expect(socket.acquire("\ud801", { timeout: 0 })).toMatchObject({ t: "granted", key: "\ud801" });
  });
});

describe("the size of a frame", () => {
  const padded = (bytes: number, character: string, size: number): string => {
    const empty = '{"t":"status","id":"big","key":"k","pad":""}';
    const count = Math.floor((bytes - empty.length) / size);
    const rest = bytes - empty.length - count * size;
    return empty.replace('""', `"${character.repeat(count)}${"x".repeat(rest)}"`);
  };

  test.each([
    ["x", 1],
    ["é", 2],
    ["日", 3],
    ["😀", 4],
  ])("may be 2 MiB in characters of any width, and one byte more closes 4413: %s", (character, size) => {
    const socket = new World().session();
    socket.say(padded(FRAME_BYTES_MAX, character, size));
    expect(socket.frames("status")).toHaveLength(1);
    socket.say(padded(FRAME_BYTES_MAX + 1, character, size));
    expect(socket.frames("error")).toMatchObject([{ code: "too_large" }]);
    expect(socket.closedWith?.code).toBe(4413);
  });

  test("is limited before hello as well", () => {
    const socket = new World().connect();
    socket.say("x".repeat(FRAME_BYTES_MAX + 1));
    expect(socket.closedWith?.code).toBe(4413);
  });

  test("a frame that closes ends the session as dropped", () => {
    const world = new World();
    const [big, other] = [world.session(), world.session()];
    big.acquire("k");
    other.acquire("k", { id: "next" });
    big.say("x".repeat(FRAME_BYTES_MAX + 1));
    expect(other.frames("granted")).toMatchObject([{ id: "next" }]);
  });
});

describe("what closes a session's socket", () => {
  test("a binary frame: 4400", () => {
    const world = new World();
    const socket = world.session();
    socket.acquire("k");
    world.host.binary(socket);
    expect(socket.closedWith?.code).toBe(4400);
    expect(world.session().status("k").status).toBe("free");
  });

  test("more frames than the rate allows: 4429, and a burst up to the rate is fine", () => {
    const world = new World({ ratePerSecond: 10 });
    const socket = world.session();
    for (let i = 0; i < 9; i++) socket.say("pong");
    expect(socket.closedWith).toBeUndefined();
    world.advance(100);
    socket.say("pong");
    expect(socket.closedWith).toBeUndefined();
    socket.say("pong");
    expect(socket.closedWith?.code).toBe(4429);
    expect(socket.frames("error")).toMatchObject([{ code: "limit" }]);
  });

  test("as many frames as the rate at once, however long it was quiet", () => {
    const world = new World({ ratePerSecond: 10 });
    const socket = world.session();
    world.advance(10_000);
    for (let i = 0; i < 10; i++) socket.say("pong");
    expect(socket.closedWith).toBeUndefined();
    socket.say("pong");
    expect(socket.closedWith?.code).toBe(4429);
  });

  test("a session of the server's own process is held to no rate", () => {
    const world = new World({ ratePerSecond: 2 });
    const socket = world.session({}, { liveness: false });
    for (let i = 0; i < 10; i++) socket.say({ t: "status", id: `${i}`, key: "k" });
    expect(socket.closedWith).toBeUndefined();
    expect(socket.frames("status")).toHaveLength(10);
  });

  test("every reason is short enough for a close frame", () => {
    const world = new World({ ratePerSecond: 100 });
    const sockets = Array.from({ length: 6 }, () => world.connect());
    sockets[0]!.say("{");
    sockets[1]!.say({ t: "hello", v: 9 });
    sockets[2]!.hello({ resume: { session: "x", secret: "y" } });
    sockets[3]!.hello();
    sockets[3]!.say({ t: "bye" });
    for (let i = 0; i < 101; i++) sockets[4]!.say("x");
    world.advance(20_000);
    for (const { closedWith } of sockets) {
      expect(closedWith?.reason).toMatch(/^[\x20-\x7e]+$/);
      expect(closedWith?.reason.length).toBeLessThanOrEqual(CLOSE_REASON_BYTES_MAX);
    }
  });
});
