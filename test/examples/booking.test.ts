import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { describe, expect, onTestFinished, test } from "vitest";
import { Child } from "../conformance/child.ts";
import { node, RUNTIMES, type Runtime } from "../conformance/runtimes.ts";
import { startServer, temporaryFolder } from "../conformance/server.ts";
import { Random } from "../simulation/random.ts";

const EXAMPLE = fileURLToPath(new URL("../../examples/booking/server.ts", import.meta.url));
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

  async start(): Promise<void> {
    const settings = { PORT: "0", PER_MINUTE: "10000", LEASE_MS: String(LEASE_MS), BANK_MS: String(BANK_MS) };
    const command = [...this.#runtime.command.slice(0, -1), EXAMPLE];
    this.#child = new Child(command, { ...settings, ...this.#env }, this.#folder);
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

async function openShop(runtime: Runtime, latchkey: "inside" | "beside", env = {}): Promise<Shop> {
  const folder = temporaryFolder();
  const server = latchkey === "beside" ? await startServer(node, { folder: folder.path }) : undefined;
  const shop = new Shop(runtime, folder.path, { ...(server && { LATCHKEY_URL: server.url }), ...env });
  onTestFinished(async () => {
    await shop.kill();
    await server?.[Symbol.asyncDispose]();
    folder.remove();
  });
  await shop.start();
  return shop;
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
