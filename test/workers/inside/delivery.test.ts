/** The connection of an answer, in the test's hand: what it has taken is what was read, and it takes the next when it asks for it. */

import { expect, test } from "vitest";
import { deliver } from "../../../src/workers/delivery.ts";

const BODY = '{"status":"acquired"}';

interface Reader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array }>;
  cancel(reason: Error): Promise<void>;
}

class Connection {
  readonly told: Promise<boolean>;
  readonly #reader: Reader;
  text = "";

  /** `failures`: so many times it cannot be told. */
  constructor(failures = 0) {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.told = promise;
    let triesLeft = failures;
    const response = deliver(200, new Headers(), BODY, async (isDelivered) => {
      if (triesLeft-- > 0) throw new Error("overloaded");
      resolve(isDelivered);
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
  await connection.take(BODY);
  expect(Date.now() - startedAt).toBeGreaterThanOrEqual(15);
});

test("an answer that was handed to the connection, which then could not write it, is not delivered", async () => {
  const connection = new Connection();
  await connection.take(BODY);
  // It has asked for nothing since: it is still writing, and fails.
  await connection.break();
  expect(await connection.told).toBe(false);
});

test("an answer that is taken only when the grant may be taken back soon is not delivered: it breaks off", async () => {
  const connection = new Connection();
  await connection.take(" ");
  // Half of the time that the object waits for the confirmation.
  await new Promise((resolve) => setTimeout(resolve, 2600));
  await expect(connection.takeAll()).rejects.toThrow("not taken in time");
  expect(await connection.told).toBe(false);
});

test("what became of an answer is told again when the object could not be told", async () => {
  const connection = new Connection(3);
  await connection.takeAll();
  expect(await connection.told).toBe(true);
});
