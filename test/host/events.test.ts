import { describe, expect, onTestFinished, test } from "vitest";
import { settle } from "./support/time.ts";
import { ORIGIN, World } from "./support/world.ts";

/** What a stream of server-sent events has told so far. */
class Events {
  readonly response: Response;
  text = "";
  end: "open" | "closed" | "broken" = "open";
  #cancel: () => Promise<void> = () => Promise.resolve();

  constructor(response: Response) {
    this.response = response;
  }

  /** Reads on by itself. */
  read(): this {
    const reader = this.response.body!.getReader();
    const decoder = new TextDecoder();
    const next = async (): Promise<void> => {
      for (let part = await reader.read(); !part.done; part = await reader.read())
        this.text += decoder.decode(part.value);
    };
    this.#cancel = () => reader.cancel();
    next().then(
      () => (this.end = "closed"),
      () => (this.end = "broken"),
    );
    return this;
  }

  cancel(): Promise<void> {
    return this.#cancel();
  }

  /** The states since the last call. */
  // oxlint-disable-next-line typescript/no-explicit-any -- entries of all shapes
  async news(): Promise<any[]> {
    await settle();
    const { text } = this;
    this.text = "";
    const blocks = text.split("\n\n").filter((block) => block.startsWith("event: state\n"));
    return blocks.map((block) => JSON.parse(block.slice("event: state\ndata: ".length)) as unknown);
  }
}

async function events(world: World, path: string, signal?: AbortSignal): Promise<Events> {
  const request = new Request(ORIGIN + path, signal === undefined ? {} : { signal });
  const stream = new Events(await world.host.fetch(request));
  onTestFinished(() => stream.cancel().catch(() => undefined));
  return stream;
}

async function gauges(world: World): Promise<readonly number[]> {
  const { text } = await world.ask("GET", "/metrics");
  return ["latchkey_watches", "latchkey_event_streams", "latchkey_spaces"].map((name) =>
    Number(new RegExp(`^${name} (\\d+)$`, "m").exec(text)?.[1]),
  );
}

describe("GET /v1/latch/{key}/events", () => {
  test("tells the present state, and then what changes", async () => {
    const world = new World();
    const { response, ...rest } = await events(world, "/v1/latch/a%2Fb/events");
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    expect(response.headers.get("cache-control")).toBe("no-store");
    const stream = new Events(response).read();
    expect(await stream.news()).toEqual([{ key: "a/b", status: "free", holders: [], waiting: 0 }]);
    const { token } = (await world.acquire("a/b", { meta: "me" })).body;
    expect(await stream.news()).toMatchObject([{ status: "held", holders: [{ meta: "me" }] }]);
    await world.release("a/b", { token });
    expect(await stream.news()).toEqual([]);
    world.advance(50);
    expect(await stream.news()).toMatchObject([{ status: "free" }]);
    expect(rest.end).toBe("open");
  });

  test("never tells a token, nor anybody's place or asks", async () => {
    const world = new World();
    const stream = (await events(world, "/v1/latch/k/events")).read();
    const { token } = (await world.acquire("k", {})).body;
    const waiter = world.session();
    waiter.acquire("k", { id: "mine" });
    expect(waiter.ask({ t: "request_access", claim: "mine", message: "may I?" })).toMatchObject({
      t: "access_requested",
    });
    waiter.say({ t: "watch", id: "w", key: "k" });
    world.advance(50);
    await settle();
    const late = (await events(world, "/v1/events")).read();
    await settle();
    for (const { text } of [stream, late]) {
      expect(text).toContain('"waiting":1');
      for (const secret of ["position", "asks", "may I?", token]) expect(text).not.toContain(secret);
    }
  });

  test("begins with a comment, and has one every 15 s, so that nobody takes it for dead", async () => {
    const world = new World();
    const stream = (await events(world, "/v1/events?prefix=none")).read();
    await settle();
    expect(stream.text).toBe(":\n\n");
    world.advance(14_999);
    await settle();
    expect(stream.text).toBe(":\n\n");
    world.advance(30_001);
    await settle();
    expect(stream.text).toBe(":\n\n".repeat(4));
  });

  test.each([
    ["/v1/latch//events", 400, "bad_key"],
    [`/v1/latch/${"x".repeat(256)}/events`, 400, "bad_key"],
    [`/v1/events?prefix=${"x".repeat(256)}`, 400, "bad_key"],
    ["/v1/events?space=a%20b", 400, "bad_space"],
  ])("is refused before it begins: %s", async (path, status, code) => {
    const answer = await new World().ask("GET", path);
    expect([answer.status, answer.body.code]).toEqual([status, code]);
  });

  test("is no other method's", async () => {
    const world = new World();
    expect(await world.ask("POST", "/v1/latch/k/events")).toMatchObject({ status: 405 });
    expect(await world.ask("DELETE", "/v1/events")).toMatchObject({ status: 405 });
  });

  test.each([
    ["the reader cancels", (stream: Events) => stream.cancel()],
    ["the reader hangs up", (_: Events, aborter: AbortController) => Promise.resolve(aborter.abort())],
  ])("leaves nothing behind when %s", async (_, leave) => {
    const world = new World();
    const aborter = new AbortController();
    const stream = (await events(world, "/v1/latch/k/events", aborter.signal)).read();
    await settle();
    expect(await gauges(world)).toEqual([1, 1, 1]);
    await leave(stream, aborter);
    await settle();
    expect(await gauges(world)).toEqual([0, 0, 0]);
  });

  test("ends when the host shuts down, and whoever asks then is told so", async () => {
    const world = new World();
    const stream = (await events(world, "/v1/latch/k/events")).read();
    await settle();
    await world.host.drain();
    await settle();
    expect(stream.end).toBe("closed");
    expect((await world.ask("GET", "/v1/latch/k/events")).status).toBe(503);
  });

  test("ends when the store fails: what it told may be wrong", async () => {
    const world = new World();
    const stream = (await events(world, "/v1/latch/k/events")).read();
    await settle();
    world.store.mode = "broken";
    await world.acquire("k");
    await settle();
    expect(stream.end).toBe("closed");
    expect((await gauges(world)).slice(0, 2)).toEqual([0, 0]);
  });

  test("tells all that there is to whoever asks, however long that is", async () => {
    const world = new World();
    const holder = world.session();
    for (let i = 0; i < 1000; i++) holder.acquire(`k${i}`, { meta: "x".repeat(1020) });
    const stream = await events(world, "/v1/events?prefix=k");
    await settle();
    stream.read();
    const news = await stream.news();
    expect([news.length, JSON.stringify(news).length > 1024 * 1024, stream.end]).toEqual([1000, true, "open"]);
    holder.acquire("k1000");
    world.advance(50);
    expect(await stream.news()).toMatchObject([{ key: "k1000" }]);
  }, 20_000);

  test("is broken off where nobody reads: more than 1 MiB of news is kept for no one", async () => {
    const world = new World();
    // So many share the key that each state of it is half a mebibyte.
    const holders = Array.from({ length: 512 }, () => world.session());
    for (const holder of holders) holder.acquire("k", { mode: "shared", meta: "x".repeat(900) });
    const stream = await events(world, "/v1/latch/k/events");
    await settle();
    const open: number[] = [];
    for (let change = 0; change < 3; change++) {
      holders[change]!.drop();
      world.advance(50);
      await settle();
      open.push((await gauges(world))[1]!);
    }
    // Besides the first state one and a half, not two.
    expect(open).toEqual([1, 0, 0]);
    expect((await gauges(world)).slice(0, 2)).toEqual([0, 0]);
    stream.read();
    await settle();
    expect(stream.end).toBe("broken");
  }, 20_000);
});

describe("GET /v1/events", () => {
  test("tells each live key with the prefix, then each that changes, and once of one that is gone", async () => {
    const world = new World();
    const a = (await world.acquire("doc:a")).body;
    await world.acquire("other");
    const stream = (await events(world, "/v1/events?prefix=doc%3A")).read();
    expect((await stream.news()).map(({ key, status }) => [key, status])).toEqual([["doc:a", "held"]]);
    await world.acquire("doc:b");
    await world.release("doc:a", { token: a.token });
    world.advance(50);
    const news = await stream.news();
    expect(new Map(news.map(({ key, status }) => [key, status]))).toEqual(
      new Map([
        ["doc:a", "free"],
        ["doc:b", "held"],
      ]),
    );
  });

  test("without a prefix tells of all keys of the space", async () => {
    const world = new World();
    await world.acquire("a");
    const stream = (await events(world, "/v1/events")).read();
    expect(await stream.news()).toMatchObject([{ key: "a" }]);
  });

  test("is refused with more than 1 000 live keys", async () => {
    const world = new World();
    const holder = world.session();
    for (let i = 0; i < 1001; i++) holder.acquire(`k${i}`);
    const answer = await world.ask("GET", "/v1/events?prefix=k");
    expect([answer.status, answer.body.code, answer.body.limit]).toEqual([429, "limit", "watched_keys"]);
    expect((await gauges(world)).slice(0, 2)).toEqual([0, 0]);
  });

  test("streams are open as many as the host allows, and another when one is over", async () => {
    const world = new World({ streamsMax: 2 });
    const first = await events(world, "/v1/latch/k/events");
    const second = await events(world, "/v1/events");
    expect([first.response.status, second.response.status]).toEqual([200, 200]);
    const refused = await world.ask("GET", "/v1/latch/k/events");
    expect([refused.status, refused.body.limit]).toEqual([429, "streams"]);
    await first.response.body?.cancel();
    expect((await events(world, "/v1/events")).response.status).toBe(200);
  });
});
