import { type Context, Hono, type MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import { HTTPException } from "hono/http-exception";
import { describe, expect, test, vi } from "vitest";
import {
  AccessDeniedError,
  LimitError,
  RefusedError,
  SessionClosedError,
  UnavailableError,
} from "../../src/client/index.ts";
import { IdempotencyInProgressError } from "../../src/client/idempotency.ts";
import { idempotency, type IdempotencyOptions, type IdempotencyVariables } from "../../src/hono/index.ts";
import { CallsInMemory } from "./support/calls-in-memory.ts";

type App = Hono<{ Variables: IdempotencyVariables }>;
type Handler = (c: Context<{ Variables: IdempotencyVariables }>) => Response | Promise<Response>;

type Body = string | FormData | ReadableStream;

interface Sent {
  readonly key?: string | null;
  readonly method?: string;
  readonly path?: string;
  readonly body?: Body | null;
  readonly headers?: Readonly<Record<string, string>>;
}

/** An app that counts how often its handler runs. */
class World {
  readonly calls = new CallsInMemory();
  readonly errors: [unknown, string][] = [];
  readonly app: App;
  ran = 0;
  #onRun: () => void = () => {};

  constructor(handler: Handler, options: Partial<IdempotencyOptions> = {}, ...before: MiddlewareHandler[]) {
    this.app = new Hono<{ Variables: IdempotencyVariables }>();
    for (const each of before) this.app.use(each);
    this.app.use(
      idempotency({
        calls: this.calls,
        principal: (c) => c.req.header("x-user") ?? "",
        onError: (error, { where }) => this.errors.push([error, where]),
        ...options,
      }),
    );
    this.app.all("*", (c) => {
      this.ran += 1;
      this.#onRun();
      return handler(c);
    });
  }

  async send({
    key = "k",
    method = "POST",
    path = "/pay",
    body = '{"a":1}',
    headers = {},
  }: Sent = {}): Promise<Response> {
    const isBare = body === null || method === "GET" || method === "HEAD";
    return this.app.request(path, {
      method,
      headers: {
        ...(key !== null && { "Idempotency-Key": key }),
        ...(typeof body === "string" && { "content-type": "application/json" }),
        ...headers,
      },
      ...(!isBare && { body }),
    });
  }

  /** Sends it, and goes on when the handler runs. */
  async begin(sent?: Sent): Promise<{ readonly answer: Promise<Response> }> {
    const runs = new Promise<void>((resolve) => {
      this.#onRun = resolve;
    });
    const answer = this.send(sent);
    await runs;
    return { answer };
  }

  /** The handler ran `times` times for these, each sent after the one before. */
  async sends(times: number, ...sent: Sent[]): Promise<Response[]> {
    const before = this.ran;
    const answers: Response[] = [];
    for (const each of sent) answers.push(await this.send(each));
    expect(this.ran - before).toBe(times);
    return answers;
  }
}

const paid: Handler = (c) => c.json({ paid: true }, 201);

async function problemOf(response: Response): Promise<Record<string, unknown>> {
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  expect(response.headers.get("cache-control")).toBe("no-store");
  const body = (await response.json()) as Record<string, unknown>;
  expect(body["status"]).toBe(response.status);
  return body;
}

describe("a repeat", () => {
  test("gets the stored answer and the handler does not run again", async () => {
    const world = new World((c) => c.json({ count: world.ran }, 201, { location: "/payments/1", etag: '"v1"' }));
    const [first, second] = await world.sends(1, {}, {});
    expect(first!.headers.has("idempotent-replayed")).toBe(false);
    expect(second!.headers.get("idempotent-replayed")).toBe("true");
    expect(second!.status).toBe(201);
    expect(await second!.text()).toBe(await first!.text());
    for (const name of ["content-type", "location", "etag"]) {
      expect(second!.headers.get(name)).toBe(first!.headers.get(name));
    }
  });

  test("may quote its key, or not", async () => {
    await new World(paid).sends(1, { key: "k" }, { key: '"k"' });
  });

  test("is the same request when only the order of JSON keys differs", async () => {
    await new World(paid).sends(1, { body: '{"a":1,"b":2}' }, { body: '{"b":2,"a":1}' });
  });

  test("with other content is refused, also while the first runs", async () => {
    const gate = Promise.withResolvers<void>();
    const world = new World(async (c) => {
      await gate.promise;
      return paid(c);
    });
    const { answer } = await world.begin({ body: '{"a":1}' });
    for (const other of [
      { body: '{"a":"1"}' },
      { body: '{"a":[1]}' },
      { path: "/refund" },
      { path: "/pay?x=1" },
      { method: "PUT" },
    ]) {
      expect(await problemOf(await world.send(other))).toMatchObject({ status: 422, code: "fingerprint_mismatch" });
    }
    gate.resolve();
    expect((await answer).status).toBe(201);
    expect((await world.send({ body: '{"a":2}' })).status).toBe(422);
    expect(world.ran).toBe(1);
  });

  test("while the first runs is told when to come back", async () => {
    const gate = Promise.withResolvers<void>();
    const world = new World(async (c) => {
      await gate.promise;
      return paid(c);
    });
    const { answer } = await world.begin();
    const second = await world.send();
    expect(second.headers.get("retry-after")).toBe("2");
    expect(await problemOf(second)).toMatchObject({
      status: 409,
      code: "in_progress",
      retryable: true,
      retry_after_ms: 1500,
    });
    gate.resolve();
    await answer;
    expect((await world.send()).headers.get("idempotent-replayed")).toBe("true");
    expect(world.ran).toBe(1);
  });

  test("is never told to come back at once", async () => {
    const world = new World(paid);
    world.calls.trouble.set("begin", new IdempotencyInProgressError("k", 0));
    expect((await world.send()).headers.get("retry-after")).toBe("1");
  });

  test("of somebody else is another request", async () => {
    const world = new World((c) => c.text(`for ${c.req.header("x-user")}`));
    const [ada, bob] = await world.sends(2, { headers: { "x-user": "ada" } }, { headers: { "x-user": "bob" } });
    expect([await ada!.text(), await bob!.text()]).toEqual(["for ada", "for bob"]);
    expect([...world.calls.records.keys()]).toEqual(['http/["ada","k"]', 'http/["bob","k"]']);
  });
});

describe("the header", () => {
  test("must be there, unless it is not required", async () => {
    const [refused] = await new World(paid).sends(0, { key: null });
    expect(await problemOf(refused!)).toMatchObject({ status: 400, code: "key_missing" });
    const relaxed = new World(paid, { required: false });
    await relaxed.sends(2, { key: null }, { key: null });
    await relaxed.sends(1, {}, {});
  });

  test.each(['""', '"k', "a b", "x".repeat(256)])("must be a key, also where it is not required: %j", async (key) => {
    for (const required of [true, false]) {
      const [refused] = await new World(paid, { required }).sends(0, { key });
      expect(await problemOf(refused!)).toMatchObject({ status: 400, code: "key_malformed" });
    }
  });

  test("of 255 bytes is one", async () => {
    await new World(paid).sends(1, { key: "x".repeat(255) }, { key: "x".repeat(255) });
  });

  test("means nothing where nothing is changed", async () => {
    const world = new World(paid);
    for (const method of ["GET", "HEAD", "OPTIONS"]) await world.sends(2, { method }, { method, key: '"broken' });
    expect(world.calls.records.size).toBe(0);
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      await world.sends(1, { method, key: method }, { method, key: method });
    }
  });
});

describe("the request's body", () => {
  test("can still be read by the handler, in every way", async () => {
    const ways: Handler[] = [
      async (c) => c.text(await c.req.text()),
      async (c) => c.text(JSON.stringify(await c.req.json())),
      async (c) => c.body(await c.req.arrayBuffer()),
      async (c) => c.text(await c.req.raw.text()),
      async (c) => c.text(await new Response(c.req.raw.body).text()),
    ];
    for (const way of ways) expect(await (await new World(way).send()).text()).toBe('{"a":1}');
    const form = new FormData();
    form.append("file", new File([Uint8Array.of(0, 255)], "a.bin"));
    const world = new World(async (c) => {
      const { file } = await c.req.parseBody();
      return c.body(await (file as File).arrayBuffer());
    });
    expect([...new Uint8Array(await (await world.send({ body: form })).arrayBuffer())]).toEqual([0, 255]);
  });

  test("may have been read before, by a validator", async () => {
    const world = new World(
      async (c) => c.json(await c.req.json()),
      {},
      async (c, next) => {
        await c.req.json();
        await next();
      },
    );
    const [first, second] = await world.sends(1, {}, {});
    expect([await first!.text(), await second!.text()]).toEqual(['{"a":1}', '{"a":1}']);
    expect((await world.send({ body: "[]" })).status).toBe(422);
  });

  test("at the limit is read, one byte more is refused before the handler runs, announced or not", async () => {
    const limited = { bodyBytesMax: 10 };
    const stream = (bytes: number): ReadableStream =>
      new ReadableStream({
        start(controller) {
          for (let i = 0; i < bytes; i++) controller.enqueue(Uint8Array.of(65));
          controller.close();
        },
      });
    const read: Handler = async (c) => c.text(await c.req.text());
    const early: MiddlewareHandler = async (c, next) => {
      await c.req.text();
      await next();
    };
    for (const before of [[], [early]]) {
      const world = new World(read, limited, ...before);
      const send = (body: Body): Promise<Response> =>
        Promise.resolve(
          world.app.request("/pay", {
            method: "POST",
            headers: {
              "Idempotency-Key": "k",
              "content-type": "text/plain",
              ...(typeof body === "string" && { "content-length": String(body.length) }),
            },
            body,
            ...(typeof body !== "string" && { duplex: "half" }),
          }),
        );
      for (const body of ["A".repeat(11), stream(11)]) {
        expect(await problemOf(await send(body))).toMatchObject({ status: 413, code: "too_large" });
      }
      expect(world.ran).toBe(0);
      expect(await (await send("A".repeat(10))).text()).toBe("A".repeat(10));
      expect((await send(stream(10))).headers.get("idempotent-replayed")).toBe("true");
      expect(world.ran).toBe(1);
    }
  });

  test("may be left out", async () => {
    const [, second] = await new World(paid).sends(1, { body: null }, { body: null });
    expect(second!.headers.get("idempotent-replayed")).toBe("true");
  });
});

describe("what the handler makes of it", () => {
  test.each([200, 204, 302, 400, 404, 409, 422, 499])("an answer of %i is kept", async (status) => {
    const [first, second] = await new World(() => new Response(null, { status })).sends(1, {}, {});
    expect([first!.status, second!.status]).toEqual([status, status]);
    expect(second!.headers.get("idempotent-replayed")).toBe("true");
  });

  test.each([500, 503, 599])("an answer of %i is not: the next one carries it out", async (status) => {
    const world = new World((c) => (world.ran === 1 ? new Response("no", { status }) : c.text("done")));
    const [first, second, third] = await world.sends(2, {}, {}, {});
    expect([first!.status, await first!.text()]).toEqual([status, "no"]);
    expect(await second!.text()).toBe("done");
    expect(third!.headers.get("idempotent-replayed")).toBe("true");
  });

  test("which answers are kept can be chosen", async () => {
    const isKept = (response: Response): boolean => response.status !== 429;
    await new World(() => new Response("no", { status: 500 }), { isKept }).sends(1, {}, {});
    await new World(() => new Response("later", { status: 429 }), { isKept }).sends(2, {}, {});
  });

  test("an error is no answer: the key is free for a retry, with another body too", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const world = new World((c) => {
      if (world.ran === 1) throw new Error("card reader on fire");
      return paid(c);
    });
    const [first, second] = await world.sends(2, {}, { body: '{"a":2}' });
    expect([first!.status, second!.status]).toEqual([500, 201]);
    vi.restoreAllMocks();
  });

  test("an error that the app turns into an answer below 500 is kept like any other", async () => {
    const world = new World(() => {
      throw new HTTPException(409, { message: "taken" });
    });
    const [first, second] = await world.sends(1, {}, {});
    expect([first!.status, second!.status, await second!.text()]).toEqual([409, 409, "taken"]);
  });

  test("something thrown that is no error frees the key as well", async () => {
    const world = new World(() => {
      // oxlint-disable-next-line typescript/only-throw-error -- it happens
      throw "a string";
    });
    await expect(world.send()).rejects.toBe("a string");
    expect(world.calls.records.size).toBe(0);
  });

  test("it knows which attempt it is, and hears when it is lost", async () => {
    const told: unknown[] = [];
    const world = new World((c) => {
      const attempt = c.get("idempotency");
      told.push(attempt?.attempt, attempt?.number, attempt?.signal.aborted);
      if (world.ran === 1) world.calls.lose(world.calls.onlyKey);
      told.push(attempt?.signal.aborted);
      return paid(c);
    });
    await world.sends(2, {}, {});
    expect(told).toEqual(["attempt-1", 1, false, true, "attempt-2", 2, false, false]);
  });

  test("a caller without a key has no attempt", async () => {
    const world = new World((c) => c.json(c.get("idempotency") === undefined), { required: false });
    expect(await (await world.send({ key: null })).json()).toBe(true);
  });
});

describe("when it cannot be kept", () => {
  test("a lost attempt's answer is not given: it may not be the one that counts", async () => {
    const world = new World(
      (c) => {
        if (world.ran === 1) {
          world.calls.lose(world.calls.onlyKey);
          c.header("set-cookie", "a=b");
          return c.json({ by: 1 }, 201, { location: "/1" });
        }
        return c.json({ by: 2 }, 201);
      },
      {},
      cors(),
    );
    const [first, second, third] = await world.sends(2, {}, {}, {});
    expect(first!.headers.get("retry-after")).toBe("1");
    expect(first!.headers.get("access-control-allow-origin")).toBe("*");
    expect([first!.headers.has("set-cookie"), first!.headers.has("location")]).toEqual([false, false]);
    expect(await problemOf(first!)).toMatchObject({ status: 503, code: "attempt_lost", retryable: true });
    expect([await second!.json(), await third!.json()]).toEqual([{ by: 2 }, { by: 2 }]);
  });

  test("a store that is down after the work leaves the answer to its caller, and is asked again until it has it", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const world = new World(paid);
    const down = new UnavailableError("unavailable", "down");
    world.calls.trouble.set("complete", down);
    expect((await world.send()).status).toBe(201);
    expect(world.errors).toEqual([[down, "complete"]]);
    expect((await world.send()).status).toBe(409);
    world.calls.trouble.set("complete", down);
    await vi.advanceTimersByTimeAsync(1000);
    expect((await world.send()).status).toBe(409);
    await vi.advanceTimersByTimeAsync(1000);
    expect((await world.send()).headers.get("idempotent-replayed")).toBe("true");
    expect([world.errors.length, world.ran, vi.getTimerCount()]).toEqual([2, 1, 0]);
    vi.useRealTimers();
  });

  test("when the attempt is lost meanwhile its answer is given up, and the next one is carried out", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const world = new World(paid);
    world.calls.trouble.set("complete", new UnavailableError("unavailable", "down"));
    await world.send();
    world.calls.lose(world.calls.onlyKey);
    await world.sends(1, {}, {});
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  test("an answer that arrives nowhere, of an attempt that is lost by then, is not given", async () => {
    const world = new World((c) => {
      world.calls.trouble.set("complete", new UnavailableError("unavailable", "down"));
      if (world.ran === 1) world.calls.lose(world.calls.onlyKey);
      return paid(c);
    });
    expect(await problemOf(await world.send())).toMatchObject({ status: 503, code: "attempt_lost" });
    expect(world.errors).toEqual([]);
  });

  test("an answer that the store refuses does not block the key", async () => {
    const world = new World(paid);
    const refused = new RefusedError("too_large", "no");
    world.calls.trouble.set("complete", refused);
    await world.sends(2, {}, {});
    expect(world.errors).toEqual([[refused, "complete"]]);
  });

  test("a fail that does not arrive is told, and changes no answer", async () => {
    const world = new World(() => new Response("no", { status: 500 }));
    const down = new UnavailableError("unavailable", "down");
    world.calls.trouble.set("fail", down);
    expect(await (await world.send()).text()).toBe("no");
    expect(world.errors).toEqual([[down, "fail"]]);
  });

  test.each([
    new UnavailableError("unavailable", "down"),
    new UnavailableError("draining", "down", { retryAfterMs: 1001 }),
    new LimitError("records", "too many"),
    new SessionClosedError(4410),
  ])("where it cannot be known whether it was done, it is not done: $name", async (error) => {
    const world = new World(paid);
    world.calls.trouble.set("begin", error);
    const [refused] = await world.sends(0, {});
    expect(Number(refused!.headers.get("retry-after"))).toBe("retryAfterMs" in error && error.retryAfterMs ? 2 : 1);
    expect(await problemOf(refused!)).toMatchObject({ status: 503, code: "unavailable", retryable: true });
  });

  test("a mistake in the setting up is the app's own error, and nothing is done", async () => {
    const world = new World(paid);
    const seen: unknown[] = [];
    world.app.onError((error, c) => {
      seen.push(error);
      return c.text("mine", 500);
    });
    const denied = new AccessDeniedError("unauthenticated", "no key");
    world.calls.trouble.set("begin", denied);
    const [answer] = await world.sends(0, {});
    expect([await answer!.text(), seen]).toEqual(["mine", [denied]]);
  });

  test("a record that somebody else completed is no answer, and is not overwritten", async () => {
    const world = new World(paid);
    await world.send();
    const record = world.calls.records.get(world.calls.onlyKey)!;
    for (const strange of [{ contentType: "application/json" }, { result: new Uint8Array() }]) {
      const { done } = record;
      record.done = { ...done!, ...strange };
      const [refused] = await world.sends(0, {});
      expect(await problemOf(refused!)).toMatchObject({ status: 503, code: "unavailable" });
      expect(world.errors.pop()?.[1]).toBe("replay");
      record.done = done;
    }
  });
});

describe("settings", () => {
  test("go to the server as they are, and a lease is extended while the handler runs", async () => {
    const world = new World(paid, { ttl: 1000, lease: 200, timeout: 300 });
    await world.send();
    const { options } = world.calls.records.get(world.calls.onlyKey)!;
    expect(options).toMatchObject({
      ttl: 1000,
      lease: 200,
      timeout: 300,
      renew: true,
      fingerprint: expect.stringMatching(/^[\w-]{43}$/),
    });
  });

  test("a caller that hangs up while it waits leaves, and without an answer from the server it ends too", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const stop = new AbortController();
    const world = new World(paid, { timeout: 1000 });
    let onWait = (): void => {};
    world.calls.begin = (_key, options) =>
      new Promise((_resolve, reject) => {
        const { signal } = options!;
        const leave = (): void => reject(signal?.reason as Error);
        if (signal?.aborted === true) leave();
        signal?.addEventListener("abort", leave, { once: true });
        onWait();
      });
    const send = (signal?: AbortSignal): Promise<Response> => {
      const init = { method: "POST", headers: { "Idempotency-Key": "k" }, ...(signal && { signal }) };
      return Promise.resolve(world.app.request(new Request("http://host/pay", init)));
    };
    onWait = () => stop.abort();
    expect((await send(stop.signal)).status).toBe(503);
    expect((await send(AbortSignal.abort())).status).toBe(503);
    onWait = () => vi.advanceTimersByTime(10_999);
    const waiting = send();
    onWait = () => vi.advanceTimersByTime(11_000);
    expect((await send()).status).toBe(503);
    expect((await waiting).status).toBe(503);
    expect([world.ran, vi.getTimerCount()]).toEqual([0, 0]);
    vi.useRealTimers();
  });

  test("calls, principal and fingerprint may depend on the request", async () => {
    const elsewhere = new CallsInMemory();
    const world = new World(paid, {
      calls: (c) => (c.req.header("x-user") === "ada" ? elsewhere : world.calls),
      principal: async () => "team",
      prefix: "mine/",
      fingerprint: (c, body) => `${c.req.path} ${body.byteLength}`,
    });
    await world.sends(1, { headers: { "x-user": "ada" } }, { headers: { "x-user": "ada" }, body: '{"b":2}' });
    expect(world.calls.records.size).toBe(0);
    expect([...elsewhere.records]).toMatchObject([['mine/["team","k"]', { fingerprint: "/pay 7" }]]);
  });

  test("whoever mounts it twice on one path has it once", async () => {
    const calls = new CallsInMemory();
    const again = idempotency({ calls, principal: () => "" });
    await new World(paid, { calls }, again).sends(1, {}, {});
    expect(calls.onlyKey).toBe('http/["","k"]');
  });

  test("a variable of the app's own with that name does not let requests by", async () => {
    const own: MiddlewareHandler = async (c, next) => {
      c.set("idempotency", "mine");
      await next();
    };
    await new World(paid, {}, own).sends(1, {}, {});
  });

  test("a principal that is no string is the app's own mistake: nobody gets another's answer by it", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    for (const nobody of [undefined, null, 7]) {
      const world = new World(paid, { principal: () => nobody as unknown as string });
      const [refused] = await world.sends(0, {});
      expect([refused!.status, world.calls.records.size]).toEqual([500, 0]);
    }
    vi.restoreAllMocks();
  });

  test("Set-Cookie cannot be replayed", () => {
    expect(() => new World(paid, { headers: ["Location", "set-cookie"] })).toThrow(RangeError);
  });

  test("on Workers what has begun outlives a caller that hangs up", async () => {
    const world = new World(paid);
    const outliving: Promise<unknown>[] = [];
    const context = { waitUntil: (work: Promise<unknown>) => outliving.push(work), passThroughOnException: () => {} };
    const headers = { "Idempotency-Key": "k" };
    await world.app.request("/pay", { method: "POST", headers }, {}, context as never);
    expect(outliving).toHaveLength(1);
    await outliving[0];
    expect(world.calls.records.get(world.calls.onlyKey)?.done).toBeDefined();
  });
});

describe("a page of another origin", () => {
  test("may see whether an answer was replayed and when to come again", async () => {
    const world = new World(paid, {}, cors({ origin: "https://page.example", exposeHeaders: ["X-Own"] }));
    const page = { headers: { origin: "https://page.example" } };
    const answers = await world.sends(1, page, page, { ...page, body: "[]" }, { ...page, key: null });
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 422, 400]);
    for (const answer of answers) {
      expect(answer.headers.get("access-control-allow-origin")).toBe("https://page.example");
      expect(answer.headers.get("access-control-expose-headers")).toBe("X-Own, Idempotent-Replayed, Retry-After");
    }
  });

  test("is not spoken to where there is none", async () => {
    const [first, second] = await new World(paid).sends(1, {}, {});
    for (const answer of [first, second]) expect(answer!.headers.has("access-control-expose-headers")).toBe(false);
  });
});
