/** The connection of an answer, in the test's hand: what it has taken is what was read, and it takes the next when it asks for it. */

import { expect, test } from "vitest";
import { deliver } from "../../../src/workers/delivery.ts";

const BODY = '{"status":"acquired"}';
const ALL_BUT_LAST = BODY.slice(0, -1);

interface Reader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array }>;
  cancel(reason: Error): Promise<void>;
}

class Connection {
  /** What the object is told at last. */
  readonly told: Promise<boolean>;
  readonly #reader: Reader;
  text = "";

  /** `stands`: what the object says when it is told that the answer is taken, each time anew. */
  constructor(stands: () => boolean | Promise<boolean> = () => true) {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.told = promise;
    const response = deliver(200, new Headers(), BODY, async (isDelivered) => {
      const isHeld = isDelivered && (await stands());
      if (isHeld === isDelivered) resolve(isDelivered);
      return isHeld;
    });
    this.#reader = response.body!.getReader() as Reader;
  }

  /** Takes chunks until it has all of this text, and asks for no more. */
  async take(text: string): Promise<void> {
    while (!this.text.includes(text)) expect(await this.#takeOne()).toBe(true);
  }

  async takeAll(): Promise<void> {
    while (await this.#takeOne());
  }

  break(): Promise<void> {
    return this.#reader.cancel(new Error("reset by peer"));
  }

  async #takeOne(): Promise<boolean> {
    const { done, value } = await this.#reader.read();
    this.text += new TextDecoder().decode(value);
    return !done;
  }
}

test("an answer of which the connection took all is delivered, and is JSON", async () => {
  const connection = new Connection();
  await connection.takeAll();
  expect(await connection.told).toBe(true);
  expect(JSON.parse(connection.text)).toEqual(JSON.parse(BODY));
});

test("an answer whose connection broke at its beginning is not delivered, and not sent", async () => {
  const connection = new Connection();
  await connection.take(" ");
  await connection.break();
  expect(await connection.told).toBe(false);
  expect(connection.text.trim()).toBe("");
});

test("the moment in which a dead connection shows begins when it has taken something, however late that is", async () => {
  const connection = new Connection();
  await connection.take(" ");
  await new Promise((resolve) => setTimeout(resolve, 60));
  const startedAt = Date.now();
  await connection.take(ALL_BUT_LAST);
  expect(Date.now() - startedAt).toBeGreaterThanOrEqual(15);
});

test("an answer that was handed to the connection, which then could not write it, is not delivered", async () => {
  const connection = new Connection();
  await connection.take(ALL_BUT_LAST);
  // It has asked for nothing since: it is still writing, and fails.
  await connection.break();
  expect(await connection.told).toBe(false);
});

test("no answer is whole before the object has said that the grant stands", async () => {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const asked = Promise.withResolvers<void>();
  const connection = new Connection(() => {
    asked.resolve();
    return promise;
  });
  const taken = connection.takeAll();
  await asked.promise;
  await new Promise((next) => setTimeout(next, 30));
  expect(connection.text.trim()).toBe(ALL_BUT_LAST);
  resolve(true);
  await taken;
  expect(JSON.parse(connection.text)).toEqual(JSON.parse(BODY));
});

test("an answer whose grant was taken back meanwhile breaks off before it is whole", async () => {
  const connection = new Connection(() => false);
  await expect(connection.takeAll()).rejects.toThrow("does not stand");
  expect(connection.text.trim()).toBe(ALL_BUT_LAST);
});

test("an object that could not be told is told again", async () => {
  let triesLeft = 3;
  const connection = new Connection(() => {
    if (triesLeft-- > 0) throw new Error("overloaded");
    return true;
  });
  await connection.takeAll();
  expect(JSON.parse(connection.text)).toEqual(JSON.parse(BODY));
});

test("an answer whose grant nobody could confirm breaks off, and the object is told that it was not delivered", async () => {
  const connection = new Connection(() => {
    throw new Error("overloaded");
  });
  await expect(connection.takeAll()).rejects.toThrow("does not stand");
  expect(await connection.told).toBe(false);
  expect(connection.text.trim()).toBe(ALL_BUT_LAST);
});
