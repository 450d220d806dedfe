import { expect, test } from "vitest";
import { Caller } from "./caller.ts";
import { openSession, openSocket } from "./socket.ts";
import { freshKey, type Subject } from "./subject.ts";

export function names(subject: Subject): void {
  test.each([
    ["255 letters", "k".repeat(255)],
    ["255 bytes in characters of two", `${"é".repeat(127)}k`],
    ["255 bytes in characters of four", `${"😀".repeat(63)}key`],
  ])("a key may have 255 bytes: %s", async (_, key) => {
    using session = await openSession(subject.socketUrl);
    const held = await session.acquire(key);
    expect(held.key).toBe(key);
    const { body } = await new Caller(subject.url).status(key);
    expect(body).toMatchObject({ key, status: "held" });
  });

  test.each([
    ["256 letters", "k".repeat(256)],
    ["256 bytes in characters of two", "é".repeat(128)],
    ["256 bytes in characters of four", "😀".repeat(64)],
  ])("a longer key is refused and never cut: %s", async (_, key) => {
    using session = await openSession(subject.socketUrl);
    const caller = new Caller(subject.url);
    await session.ask({ t: "acquire", key }, "refused");
    expect(await caller.acquire(key)).toMatchObject({ status: 400, body: { code: "bad_key" } });
    const [...characters] = key;
    expect((await session.status(characters.slice(0, -1).join(""))).status).toBe("free");
  });

  test("a slash in a key is percent-encoded, and the key is one segment of the path", async () => {
    const caller = new Caller(subject.url);
    const key = `a/${freshKey()}`;
    expect(await caller.acquire(key)).toMatchObject({ status: 200, body: { key } });
    expect(await caller.request("GET", `/v1/latch/${key}`)).toMatchObject({ status: 404, body: { code: "not_found" } });
  });

  test("reserved and unusual characters reach the engine as they are", async () => {
    using session = await openSession(subject.socketUrl);
    for (const key of ["a b", "a+b", "a%b", "a?b#c", 'a"b\\c', "a\u0000b", "ü/日本/😀", "%2F", "../x"]) {
      const held = await session.acquire(key);
      const { body } = await new Caller(subject.url).status(key);
      expect(body).toMatchObject({ key, holders: [{ fence: held.fence }] });
    }
  });

  test.each(["", "%ff", "%E0%A4%A", "%", "%ED%A0%80"])(
    "an empty or undecodable key in a path is bad_key: '%s'",
    async (segment) => {
      const answer = await new Caller(subject.url).request("POST", `/v1/latch/${segment}/acquire`, {});
      expect(answer).toMatchObject({ status: 400, body: { code: "bad_key", retryable: false } });
    },
  );

  test("keys have no prefix meaning and are not normalised", async () => {
    using session = await openSession(subject.socketUrl);
    const composed = "caf\u00e9";
    for (const key of ["/foo", "/foobar", "/fo", "/Foo", "/foo ", " /foo", composed, composed.normalize("NFD")]) {
      await session.acquire(key);
    }
  });

  test("on the WebSocket a key may be empty or ill-formed Unicode, and no two of them meet", async () => {
    using session = await openSession(subject.socketUrl);
    const fences = new Map<string, number>();
    for (const key of ["", "\ud800", "\ud801", "\udc00", "\ufffd", "\udc00\ud800"]) {
      fences.set(key, (await session.acquire(key)).fence);
    }
    for (const [key, fence] of fences) {
      expect(await session.status(key)).toMatchObject({ key, holders: [{ fence }] });
    }
  });

  test("spaces never see each other", async () => {
    const key = freshKey();
    using here = await openSession(subject.socketUrl, { space: "here" });
    using there = await openSession(subject.socketUrl, { space: "th-ER_3." });
    await here.acquire(key);
    await there.acquire(key);
    expect((await new Caller(subject.url).acquire(key)).status).toBe(200);

    expect(await there.status(key)).toMatchObject({ waiting: 0, holders: [{}] });
    const other = await new Caller(subject.url, { space: "elsewhere" }).request("GET", "/v1/latch?space=elsewhere");
    expect(other.body).toEqual({ keys: [] });
  });

  test("a token means nothing in another space", async () => {
    const key = freshKey();
    using here = await openSession(subject.socketUrl, { space: "here" });
    const { token } = await here.acquire(key);
    const answer = await new Caller(subject.url, { space: "there" }).release(key, { token });
    expect(answer).toMatchObject({ status: 404, body: { code: "unknown_token" } });
    expect((await here.status(key)).status).toBe("held");
  });

  test("a space that is not called otherwise is `default`", async () => {
    const key = freshKey();
    using session = await openSession(subject.socketUrl);
    await session.acquire(key);
    expect((await new Caller(subject.url, { space: "default" }).status(key)).body.status).toBe("held");
  });

  test.each(["", "a b", "ü", "a/b", "s".repeat(65)])("a space with a wrong name is bad_space: '%s'", async (space) => {
    const path = `/v1/latch/${freshKey()}/acquire?space=${encodeURIComponent(space)}`;
    const answer = await new Caller(subject.url).request("POST", path, {});
    expect(answer).toMatchObject({ status: 400, body: { code: "bad_space" } });
  });

  test("a space may be named in the URL of a session, and then in its hello no other", async () => {
    const url = `${subject.socketUrl}?space=in-url`;
    const key = freshKey();
    using session = await openSocket(url);
    expect(await session.hello()).toMatchObject({ space: "in-url" });
    await session.acquire(key);
    using same = await openSession(url, { space: "in-url" });
    expect((await same.status(key)).status).toBe("held");
    using other = await openSocket(url);
    other.send({ t: "hello", v: 1, space: "another" });
    expect((await other.next("error")).code).toBe("bad_space");
    expect((await other.closed).code).toBe(4400);
    await expect(openSocket(`${subject.socketUrl}?space=a%20b`)).rejects.toThrow("400");
  });

  test("an empty space in the URL is the default", async () => {
    using session = await openSocket(`${subject.socketUrl}?space=`);
    expect(await session.hello()).toMatchObject({ space: "default" });
  });
}
