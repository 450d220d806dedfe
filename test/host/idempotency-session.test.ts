import { describe, expect, test } from "vitest";
import { decodeResult, encodeResult } from "../../src/protocol/result-text.ts";
import { type FakeSocket, KEYS, World } from "./support/world.ts";

const MIB = 1024 * 1024;

function begin(session: FakeSocket, rest: object = {}): ReturnType<FakeSocket["ask"]> {
  return session.ask({ t: "begin", key: "k", ...rest });
}

describe("idempotent work in a session", () => {
  test("is started, completed and replayed", () => {
    const session = new World().session();
    const started = begin(session, { lease: 5000 });
    expect(started).toEqual({
      t: "started",
      id: "r1",
      key: "k",
      attempt: expect.stringMatching(/^minted-/),
      number: 1,
      lease: 5000,
      expires_in: 5000,
    });
    const { attempt } = started;
    expect(session.ask({ t: "complete", key: "k", attempt, result: "[1]" })).toEqual({ t: "completed", id: "r2" });
    expect(session.ask({ t: "complete", key: "k", attempt, result: "[1]" })).toMatchObject({ already: true });
    expect(session.ask({ t: "complete", key: "k", attempt, result: "[2]" })).toMatchObject({ code: "result_mismatch" });
    expect(begin(session)).toEqual({
      t: "replay",
      id: "r5",
      key: "k",
      number: 1,
      result: "[1]",
      type: "application/json",
    });
  });

  test("that another attempt runs is told at once without a timeout, and with one when it is over", () => {
    const world = new World();
    const session = world.session();
    begin(session, { lease: 60_000 });
    expect(begin(session)).toMatchObject({ t: "in_progress", key: "k", retry_after_ms: 60_000 });
    expect(begin(session, { timeout: 1000 })).toEqual({ t: "attempt_queued", id: "r3", position: 1 });
    expect(session.frames("in_progress")).toHaveLength(1);
    world.advance(1000);
    expect(session.frames("in_progress").at(-1)).toMatchObject({ id: "r3", retry_after_ms: 59_000 });
  });

  test("a wait is withdrawn by the begin's id, and an attempt as if it had failed", () => {
    const session = new World().session();
    begin(session, { id: "a" });
    begin(session, { id: "b", timeout: 5000 });
    begin(session, { id: "c", timeout: 5000 });
    session.say({ t: "cancel_begin", id: "b" });
    expect(session.frames("in_progress")).toMatchObject([{ id: "b" }]);
    session.say({ t: "cancel_begin", id: "a" });
    expect(session.frames("started").at(-1)).toMatchObject({ id: "c", number: 2 });
    expect(session.frames("failed")).toEqual([{ t: "failed", id: "a" }]);
    const { length } = session.sent;
    session.say({ t: "cancel_begin", id: "unknown" });
    expect(session.sent).toHaveLength(length);
  });

  test("is over at once with its session, and the first who waits starts in that step", () => {
    const world = new World();
    const first = world.session();
    const second = world.session();
    begin(first, { lease: 60_000 });
    begin(second, { timeout: 60_000 });
    first.drop();
    expect(second.frames("started")).toMatchObject([{ number: 2 }]);
  });

  test.each([
    ["bye", (session: FakeSocket) => session.say({ t: "bye" })],
    ["silence", (_session: FakeSocket, world: World) => world.advance(15_000)],
  ])("ends with its session by %s", async (_how, end) => {
    const world = new World();
    const session = world.session();
    begin(session, { lease: 60_000 });
    end(session, world);
    expect((await world.ask("GET", "/v1/idempotency/k")).body).toMatchObject({ status: "idle", attempts: 1 });
  });

  test("goes on while its session is suspended, and a repeat of the begin finds it", () => {
    const world = new World();
    const session = world.session({ grace: 10_000 });
    const { attempt } = begin(session, { id: "b", lease: 60_000 });
    session.drop();
    world.advance(9000);
    const resumed = world.session({ resume: session.resume });
    expect(begin(resumed, { id: "b", lease: 60_000 })).toMatchObject({ t: "started", attempt, expires_in: 51_000 });
    resumed.drop();
    world.advance(10_000);
    expect(begin(world.session(), { id: "b" })).toMatchObject({ t: "started", number: 2 });
  });

  test("its owner hears at once that its lease is over, and that it was forgotten", () => {
    const world = new World();
    const session = world.session();
    begin(session, { id: "b", lease: 1000 });
    world.advance(1000);
    expect(session.frames("attempt_lost")).toEqual([{ t: "attempt_lost", id: "b", key: "k", reason: "expired" }]);
    begin(session, { id: "c" });
    expect(world.session().ask({ t: "forget", key: "k" })).toMatchObject({ t: "forgotten", existed: true });
    expect(session.frames("attempt_lost").at(-1)).toMatchObject({ id: "c", reason: "forgotten" });
  });

  test("extends and fails by the attempt, from any session", () => {
    const world = new World();
    const { attempt } = begin(world.session(), { lease: 1000 });
    const other = world.session();
    world.advance(900);
    const extended = other.ask({ t: "extend_attempt", key: "k", attempt, lease: 2000 });
    expect(extended).toMatchObject({ t: "attempt_extended", key: "k", lease: 2000, expires_in: 2000 });
    expect(other.ask({ t: "fail", key: "k", attempt })).toMatchObject({ t: "failed" });
    expect(other.ask({ t: "fail", key: "k", attempt })).toMatchObject({ t: "attempt_lost", reason: "unknown" });
    expect(other.ask({ t: "extend_attempt", key: "k", attempt, lease: 2000 })).toMatchObject({ t: "attempt_lost" });
  });

  test("to forget without the attempt needs the permission to operate", () => {
    const world = new World({ keys: KEYS });
    const as = (index: number): FakeSocket =>
      world.session({}, { headers: { authorization: `Bearer ${KEYS[index]!.secret}` } });
    const session = as(0);
    const { attempt } = begin(session);
    expect(session.ask({ t: "forget", key: "k" })).toMatchObject({ t: "refused", code: "forbidden" });
    expect(as(3).ask({ t: "forget", key: "k" })).toMatchObject({ t: "forgotten", existed: true });
    expect(session.ask({ t: "forget", key: "k", attempt })).toMatchObject({ t: "forgotten", existed: false });
  });

  test("a record that cannot be read is refused, and may be asked for again", () => {
    const world = new World();
    world.store.unreadable.add("k");
    expect(begin(world.session())).toMatchObject({ t: "refused", code: "unavailable", retryable: true });
  });

  test.each([
    ["fingerprint", "x".repeat(4096), "x".repeat(4097)],
    ["ttl", 1000, 999],
    ["ttl", 2_592_000_000, 2_592_000_001],
    ["lease", 100, 99],
    ["lease", 86_400_000, 86_400_001],
    ["timeout", 86_400_000, 86_400_001],
  ])("takes a %s at its limit, not one past it", (field, inside, outside) => {
    const session = new World().session();
    expect(begin(session, { [field]: inside }).t).toBe("started");
    expect(begin(session, { key: "l", [field]: outside })).toMatchObject({ t: "refused", code: "bad_request" });
  });
});

describe("a result on the WebSocket", () => {
  test.each([
    ["every byte", Uint8Array.from({ length: 256 }, (_, i) => i)],
    ["a mebibyte of quotes", new TextEncoder().encode('"'.repeat(MIB))],
    ["a mebibyte of text", new TextEncoder().encode("é".repeat(MIB / 2))],
    ["a mark of byte order", new Uint8Array([0xef, 0xbb, 0xbf, 0x61])],
    ["half a character", new Uint8Array([0x61, 0xc3])],
    ["nothing", new Uint8Array()],
  ])("comes back byte for byte, in a frame of at most 2 MiB: %s", (_what, bytes) => {
    const session = new World().session();
    const { attempt } = begin(session);
    const frame = { t: "complete", key: "k", attempt, ...encodeResult(bytes), type: "a/b" };
    expect(JSON.stringify(frame).length).toBeLessThan(1.5 * MIB);
    expect(session.ask(frame)).toMatchObject({ t: "completed" });
    const replay = begin(session);
    expect(replay.type).toBe("a/b");
    expect(Buffer.from(decodeResult(replay)!).equals(bytes)).toBe(true);
  });

  test("one byte too long is refused, as text and as base64, and nothing of it is stored", () => {
    const session = new World().session();
    const { attempt } = begin(session);
    const text = "é".repeat(MIB / 2);
    const complete = (rest: object): ReturnType<FakeSocket["ask"]> =>
      session.ask({ t: "complete", key: "k", attempt, ...rest });
    expect(complete({ result: `${text}a` })).toMatchObject({ t: "refused", code: "too_large" });
    const bytes = btoa("\u00ff".repeat(MIB + 1));
    expect(complete({ result: bytes, encoding: "base64" })).toMatchObject({ t: "refused", code: "too_large" });
    expect(begin(session)).toMatchObject({ t: "in_progress" });
    expect(complete({ result: text })).toMatchObject({ t: "completed" });
  });

  test.each([
    ["QQ", "base64"],
    ["QQ= ", "base64"],
    ["Q-==", "base64"],
    ["QQ==QQ==", "base64"],
    ["\ud800", undefined],
  ])("that stands for no bytes is refused: %j", (result, encoding) => {
    const session = new World().session();
    const { attempt } = begin(session);
    const refused = session.ask({ t: "complete", key: "k", attempt, result, encoding });
    expect(refused).toMatchObject({ t: "refused", code: "bad_request" });
  });

  test.each([
    ["x".repeat(255), "completed"],
    ["x".repeat(256), "refused"],
    ["", "refused"],
    ["a\nb", "refused"],
    [" a", "refused"],
    ["text/plain; charset=utf-8", "completed"],
  ])("has a content type that can be a header: %j", (type, answer) => {
    const session = new World().session();
    const { attempt } = begin(session);
    expect(session.ask({ t: "complete", key: "k", attempt, result: "1", type }).t).toBe(answer);
  });
});
