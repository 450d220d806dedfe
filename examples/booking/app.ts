/**
 * Booking a room: a guest who clicks twice, or whose answer was lost, is charged once, and a room is booked once for each day.
 *
 *   rate limit → idempotency (the same request again gets the same bytes) → lock on the days → check, charge, insert
 *
 * Each stage keeps the load of the next one low; that a day is never booked twice is the transaction's own doing.
 */

import { Hono } from "hono";
import { LatchkeyError } from "latchkey/client";
import {
  type IdempotentClient,
  IdempotencyInProgressError,
  IdempotencyMismatchError,
  type Started,
} from "latchkey/client/idempotency";
import type { Asked, Bookings } from "./bookings.ts";
import { RateLimit } from "./rate-limit.ts";

export interface Choices {
  readonly client: IdempotentClient;
  readonly bookings: Bookings;
  /** Requests that a guest may send in a minute. */
  readonly perMinuteMax: number;
  /** For how long an attempt, or a lock, of a server that has vanished is in the way of the next, ms. */
  readonly leaseMs: number;
  /** Asks the bank: takes a while, and moves no money yet. */
  readonly authorize: (asked: Asked, signal: AbortSignal) => Promise<void>;
}

type Outcome =
  | { readonly status: "booked"; readonly booking: unknown }
  | { readonly status: "taken"; readonly space: string };

const HTTP_STATUS = { booked: 201, taken: 409 } as const;

export function createApp(choices: Choices): Hono {
  const app = new Hono();
  const limit = new RateLimit(choices.perMinuteMax);
  app.post("/bookings", async (c) => {
    const request = c.req.header("Idempotency-Key") ?? "";
    const asked = read(await c.req.json().catch(() => undefined));
    if (!/^[!-~]{1,200}$/.test(request)) return c.json({ error: "an Idempotency-Key is needed" }, 400);
    if (asked === undefined) return c.json({ error: "guest, space, start and end are needed" }, 400);
    if (!limit.takes(asked.guest)) return c.json({ error: "too many requests" }, 429, { "Retry-After": "60" });
    return bookOnce(choices, request, asked);
  });
  app.onError((error, c) => {
    if (error instanceof IdempotencyMismatchError) return c.json({ error: "this key was for another booking" }, 400);
    if (error instanceof IdempotencyInProgressError) {
      const retryAfter = String(Math.max(1, Math.ceil(error.retryAfterMs / 1000)));
      return c.json({ error: "this booking is being made" }, 409, { "Retry-After": retryAfter });
    }
    console.error(error);
    // Whether it was booked is not known here, but the same request again will tell.
    if (error instanceof LatchkeyError) return c.json({ error: "try again" }, 503, { "Retry-After": "1" });
    return c.json({ error: "something went wrong" }, 500);
  });
  return app;
}

async function bookOnce(choices: Choices, request: string, asked: Asked): Promise<Response> {
  const { client, leaseMs } = choices;
  const key = `booking:${request}`;
  const begun = await client.idempotency.begin(key, { fingerprint: printOf(asked), lease: leaseMs, renew: true });
  if (begun.status === "replay") return answer(new TextDecoder().decode(begun.result), true);
  try {
    const result = JSON.stringify(await bookUnderLock(choices, request, asked, begun));
    await client.idempotency.complete(key, begun.attempt, result);
    return answer(result, false);
  } catch (error) {
    // The next one may start at once, and finds what was booked. If this does not arrive, the lease ends the attempt.
    await client.idempotency.fail(key, begun.attempt).catch(() => undefined);
    throw error;
  }
}

function bookUnderLock(choices: Choices, request: string, asked: Asked, attempt: Started): Promise<Outcome> {
  const { client, bookings, leaseMs, authorize } = choices;
  const { space, start, end } = asked;
  return client.withLock(
    `booking:${space}:${start}:${end}`,
    async (lock): Promise<Outcome> => {
      // An attempt before this one may have come to its end and died before it could say so.
      const before = bookings.of(request);
      if (before === undefined) {
        if (!bookings.isFree(asked)) return { status: "taken", space };
        const signal = AbortSignal.any([lock.signal, attempt.signal]);
        await authorize(asked, signal);
        // From here on nothing waits, so nothing can come in between.
        signal.throwIfAborted();
      }
      const booking = before ?? bookings.chargeAndBook(request, asked);
      if (booking === undefined) return { status: "taken", space };
      // The record of a key lives for a day, its booking for longer: it is still not for another.
      if (printOf(booking) !== printOf(asked)) throw new IdempotencyMismatchError(request);
      return { status: "booked", booking };
    },
    { ttl: leaseMs, timeout: 10_000 },
  );
}

/** What a key stands for. */
function printOf({ guest, space, start, end }: Asked): string {
  return `${guest}|${space}|${start}|${end}`;
}

/** The stored bytes, also for who asked first. */
function answer(result: string, isReplay: boolean): Response {
  const { status } = JSON.parse(result) as Outcome;
  const headers = { "Content-Type": "application/json", ...(isReplay && { "Idempotent-Replayed": "true" }) };
  return new Response(result, { status: HTTP_STATUS[status], headers });
}

function read(body: unknown): Asked | undefined {
  const { guest, space, start, end } = (body ?? {}) as Record<string, unknown>;
  if (!isName(guest) || !isName(space) || !isDay(start) || !isDay(end) || start >= end) return undefined;
  return { guest, space, start, end };
}

function isName(value: unknown): value is string {
  return typeof value === "string" && /^[\w-]{1,32}$/.test(value);
}

function isDay(value: unknown): value is string {
  return typeof value === "string" && /^\d{4}-\d\d-\d\d$/.test(value);
}
