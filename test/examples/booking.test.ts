import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { AttemptLostError, IdempotencyInProgressError } from "latchkey/client/idempotency";
import { createLatchkey } from "latchkey/node";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createApp } from "../../examples/booking/app.ts";
import { Bookings } from "../../examples/booking/bookings.ts";
import { Child, type Ended } from "../conformance/child.ts";
import { node, RUNTIMES, type Runtime } from "../conformance/runtimes.ts";
import { startServer, temporaryFolder } from "../conformance/server.ts";
import { Random } from "../simulation/random.ts";

const EXAMPLE = fileURLToPath(new URL("../../examples/booking/server.ts", import.meta.url));
/** The same app, which ends itself with `kill -9`. */
const DYING = fileURLToPath(new URL("./booking-dies.ts", import.meta.url));
const CROWD = 200;
const KILLS = 3;
const LEASE_MS = 20_000;
const BANK_MS = 150;

interface Asked {
  readonly guest?: string;
  readonly space?: string;
  readonly start?: string;
  readonly end?: string;
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly isReplay: boolean;
  readonly retryAfter: string | null;
}

/** A booking server that can be killed and started again, with what it keeps. */
class Shop {
  readonly #runtime: Runtime;
  readonly #folder: string;
  readonly #env: Readonly<Record<string, string>>;
  #child: Child | undefined;
  #url = "";

  constructor(runtime: Runtime, folder: string, env: Readonly<Record<string, string>>) {
    this.#runtime = runtime;
    this.#folder = folder;
    this.#env = env;
  }

  get output(): string {
    return this.#child?.output ?? "";
  }

  async start(program = EXAMPLE, env: Readonly<Record<string, string>> = {}): Promise<void> {
    const settings = { PORT: "0", PER_MINUTE: "10000", LEASE_MS: String(LEASE_MS), BANK_MS: String(BANK_MS) };
    const command = [...this.#runtime.command.slice(0, -1), program];
    this.#child = new Child(command, { ...settings, ...this.#env, ...env }, this.#folder);
    this.#url = await this.#child.printed(/http:\S+/);
  }

  /** `kill -9`, `afterMs` after the server has begun to ask the bank. */
  async killAtTheBank(afterMs: number): Promise<void> {
    await this.#child?.printed(/asking the bank/);
    await new Promise((resolve) => {
      setTimeout(resolve, afterMs);
    });
    await this.kill();
  }

  async kill(): Promise<void> {
    await this.#child?.kill();
  }

  /** How it ended, by itself. */
  async ended(): Promise<Ended | undefined> {
    return this.#child?.ended;
  }

  async book(
    key: string,
    { guest = "ada", space = "attic", start = "2031-05-01", end = "2031-05-03" }: Asked = {},
  ): Promise<Answer> {
    const response = await fetch(`${this.#url}/bookings`, {
      method: "POST",
      headers: { "Idempotency-Key": key },
      body: JSON.stringify({ guest, space, start, end }),
    });
    const text = await response.text();
    const isReplay = response.headers.get("idempotent-replayed") === "true";
    return { status: response.status, text, isReplay, retryAfter: response.headers.get("retry-after") };
  }

  /** As a patient client does it: again, until it is booked or taken. */
  async bookAtLast(key: string, asked?: Asked): Promise<Answer> {
    for (;;) {
      const answer = await this.book(key, asked);
      if (answer.retryAfter === null) return answer;
      await new Promise((resolve) => {
        setTimeout(resolve, 50);
      });
    }
  }

  count(table: "booking" | "charge"): number {
    const sqlite = new DatabaseSync(`${this.#folder}/bookings.db`, { readOnly: true });
    const row = sqlite.prepare(`SELECT count(*) AS count FROM ${table}`).get();
    sqlite.close();
    return row?.["count"] as number;
  }
}

async function openShop(
  runtime: Runtime,
  latchkey: "inside" | "beside",
  env = {},
  ...program: Parameters<Shop["start"]>
): Promise<Shop> {
  const folder = temporaryFolder();
  const server = latchkey === "beside" ? await startServer(node, { folder: folder.path }) : undefined;
  const shop = new Shop(runtime, folder.path, { ...(server && { LATCHKEY_URL: server.url }), ...env });
  onTestFinished(async () => {
    await shop.kill();
    await server?.[Symbol.asyncDispose]();
    folder.remove();
  });
  await shop.start(...program);
  return shop;
}

const ASKED = { guest: "ada", space: "attic", start: "2031-05-01", end: "2031-05-03" };

/** The app in this process, whose bank can be up to something. */
async function openApp() {
  const latchkey = createLatchkey();
  const sqlite = new DatabaseSync(":memory:");
  onTestFinished(() => {
    sqlite.close();
    return latchkey.close();
  });
  const client = latchkey.connect();
  const bookings = new Bookings(sqlite);
  const bank = { onAuthorize: (_asked: Required<Asked>): unknown => undefined };
  const authorize = async (asked: Required<Asked>): Promise<void> => void (await bank.onAuthorize(asked));
  const app = createApp({ client, bookings, perMinuteMax: 100, leaseMs: LEASE_MS, authorize });
  const book = async (key: string, asked: Asked = {}): Promise<Response> => {
    const body = JSON.stringify({ ...ASKED, ...asked });
    return app.request("/bookings", { method: "POST", headers: { "Idempotency-Key": key }, body });
  };
  const count = (table: "booking" | "charge"): unknown =>
    sqlite.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.["count"];
  return Object.assign(bank, { client, bookings, book, count });
}

function crowd<T>(of: (i: number) => Promise<T>): Promise<T>[] {
  return Array.from({ length: CROWD }, (_, i) => of(i));
}

/** Days that all overlap, and are all locks of their own. */
function overlapping(i: number): Asked {
  return {
    guest: `guest-${i}`,
    start: `2031-05-${String(1 + (i % 9)).padStart(2, "0")}`,
    end: `2031-06-${10 + (i % 20)}`,
  };
}

const PLACES = ["inside", "beside"] as const;

describe.each(RUNTIMES)("on $name", { timeout: 60_000 }, (runtime) => {
  describe.each(PLACES)("with Latchkey %s", (place) => {
    test(`of ${CROWD} requests with one key one is carried out, and all others get its bytes`, async () => {
      const shop = await openShop(runtime, place);
      const answers = await Promise.all(crowd(() => shop.bookAtLast("k")));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
      expect(answers.filter(({ isReplay }) => isReplay)).toHaveLength(CROWD - 1);
      expect([shop.count("booking"), shop.count("charge")]).toEqual([1, 1]);
    });

    test(`of ${CROWD} bookings of overlapping days one is made and charged`, async () => {
      const shop = await openShop(runtime, place);
      const answers = await Promise.all(crowd((i) => shop.bookAtLast(`k${i}`, overlapping(i))));
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
      expect(answers.filter(({ text }) => text.includes('"taken"'))).toHaveLength(CROWD - 1);
      expect([shop.count("booking"), shop.count("charge")]).toEqual([1, 1]);
    });

    test("killed at the bank and started again: nobody is charged twice, and no key waits longer than its lease", async (context) => {
      const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 2 ** 32));
      context.onTestFailed(() => console.log(`SEED=${seed}`));
      const random = new Random(seed);
      const shop = await openShop(runtime, place);
      for (let round = 1; round <= KILLS; round++) {
        const [same, ranges] = [{ space: `same-${round}` }, { space: `ranges-${round}` }];
        const send = (): Promise<Answer>[] => [
          ...crowd(() => shop.bookAtLast(`same-${round}`, same)),
          ...crowd((i) => shop.bookAtLast(`range-${round}-${i}`, { ...overlapping(i), ...ranges })),
        ];
        const before = Promise.allSettled(send());
        await shop.killAtTheBank(random.between(0, 2 * BANK_MS));
        const killedAt = performance.now();
        await before;
        await shop.start();
        const answers = await Promise.all(send());
        expect(performance.now() - killedAt).toBeLessThan(LEASE_MS);
        const [one, other] = [answers.slice(0, CROWD), answers.slice(CROWD)];
        expect(new Set(one.map(({ status }) => status))).toEqual(new Set([201]));
        expect(new Set(one.map(({ text }) => text)).size).toBe(1);
        expect(other.filter(({ status }) => status === 201)).toHaveLength(1);
        expect([shop.count("booking"), shop.count("charge")]).toEqual([2 * round, 2 * round]);
      }
    });
  });
});

const STEPS = [
  ["at the bank", 0],
  ["before the charge", 0],
  ["after the charge", 0],
  ["after the insert", 0],
  ["after the commit", 1],
  ["when all is done", 1],
] as const;

/** A key and a room of its own. */
function named(step: string): [key: string, asked: Asked] {
  const name = step.replaceAll(" ", "-");
  return [name, { space: name }];
}

test.each(RUNTIMES)(
  "killed at any step on $name: booked and charged once, without waiting for the lease",
  { timeout: 60_000 },
  async (runtime) => {
    const shop = await openShop(runtime, "beside", { LEASE_MS: "60000" });
    const startedAt = performance.now();
    let count = 0;
    for (const [step, booked] of STEPS) {
      await shop.kill();
      await shop.start(DYING, { DIES: step });
      await expect(shop.book(...named(step))).rejects.toThrow(TypeError);
      expect((await shop.ended())?.signal).toBe("SIGKILL");
      count += booked;
      expect([shop.count("booking"), shop.count("charge")]).toEqual([count, count]);
    }
    await shop.start();
    for (const [step] of STEPS) {
      const answer = await shop.bookAtLast(...named(step));
      expect(answer).toMatchObject({ status: 201, isReplay: step === "when all is done" });
      expect(await shop.book(...named(step))).toEqual({ ...answer, isReplay: true });
    }
    expect(performance.now() - startedAt).toBeLessThan(60_000);
    expect([shop.count("booking"), shop.count("charge")]).toEqual([STEPS.length, STEPS.length]);
  },
);

describe("two attempts at one booking", () => {
  test("the first comes back while the second asks the bank: both made one booking, and that is the answer", async () => {
    const shop = await openApp();
    shop.onAuthorize = (asked) => shop.bookings.chargeAndBook("k", asked);
    const booked = await shop.book("k");
    const booking = shop.bookings.of("k");
    expect([booked.status, await booked.json()]).toEqual([201, { status: "booked", booking }]);
    expect(shop.bookings.chargeAndBook("k", ASKED)).toEqual(booking);
    expect(shop.count("charge")).toBe(1);
  });

  test("a key whose record is gone is still not for another booking", async () => {
    const shop = await openApp();
    expect((await shop.book("k")).status).toBe(201);
    await shop.client.idempotency.forget("booking:k");
    const other = await shop.book("k", { space: "cellar" });
    expect([other.status, await other.json()]).toEqual([400, { error: "this key was for another booking" }]);
    expect((await shop.book("k")).status).toBe(201);
    expect([shop.count("booking"), shop.count("charge")]).toEqual([1, 1]);
  });

  test("one that was lost at the bank books nothing", async () => {
    const shop = await openApp();
    const told = vi.spyOn(console, "error").mockReturnValue();
    onTestFinished(() => told.mockRestore());
    shop.onAuthorize = () => shop.client.idempotency.forget("booking:k");
    expect((await shop.book("k")).status).toBe(503);
    expect(told).toHaveBeenCalledWith(expect.any(AttemptLostError));
    expect([shop.count("booking"), shop.count("charge")]).toEqual([0, 0]);
  });
});

describe("a key", () => {
  test.each([
    ["k".repeat(200), 201],
    ["k".repeat(201), 400],
    ["", 400],
    ["\u00e9".repeat(150), 400],
  ])("%j: %i", async (key, status) => {
    expect((await (await openApp()).book(key)).status).toBe(status);
  });

  test("whose attempt ends at once is not to be asked for in a loop", async () => {
    const shop = await openApp();
    shop.client.idempotency.begin = () => Promise.reject(new IdempotencyInProgressError("k", 0));
    expect((await shop.book("k")).headers.get("retry-after")).toBe("1");
  });
});

test("a request under way is 409, another booking under its key 400, and too many are 429", async () => {
  const shop = await openShop(node, "inside", { BANK_MS: "1000", PER_MINUTE: "4" });
  const first = shop.book("k");
  while (!shop.output.includes("asking the bank")) await new Promise((resolve) => setImmediate(resolve));
  const second = await shop.book("k");
  expect([second.status, Number(second.retryAfter) > 0]).toEqual([409, true]);
  expect((await shop.book("k", { end: "2031-05-04" })).status).toBe(400);
  const { text } = await first;
  expect(await shop.book("k")).toMatchObject({ status: 201, isReplay: true, text });
  expect((await shop.book("k")).status).toBe(429);
  expect((await shop.book("k2", { guest: "bob" })).status).toBe(409);
  expect((await shop.book("", { guest: "bob" })).status).toBe(400);
  expect((await shop.book("k3", { guest: "bob", end: "2031-05-01" })).status).toBe(400);
});
