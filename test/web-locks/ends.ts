/** The end of a client, and what Latchkey's locks are beyond the standard. */

import { check, domException, rejection, same } from "./check.ts";
import type { Case } from "./trial.ts";

const SHARED = { mode: "shared" };

export const endCases: readonly Case[] = [
  {
    name: "end: what a client held is free when it ends",
    needs: ["end"],
    async run(t) {
      const name = t.name();
      await t.held(name, {}, t.second);
      const next = t.hold(name);
      await t.turn();
      check(!next.isGranted, "the next one waits");
      await t.end(t.second);
      await next.granted;
    },
  },
  {
    name: "end: what a client waited for is waited for no more, and those behind it are granted",
    needs: ["end"],
    async run(t) {
      const name = t.name();
      await t.held(name, SHARED);
      const writer = t.hold(name, {}, t.second);
      await t.turn();
      const reader = t.hold(name, SHARED, t.third);
      await t.turn();
      check(!reader.isGranted, "the reader waits behind the writer");
      await t.end(t.second);
      await reader.granted;
      await rejection(writer.result);
      same(await t.seen(name), { held: ["shared", "shared"], pending: [] }, "what is seen");
    },
  },
  {
    name: "end: a client's own locks are lost to it with an AbortError",
    needs: ["end", "lock"],
    async run(t) {
      const holder = await t.held(t.name(), {}, t.second);
      const { signal } = await holder.granted;
      await t.end(t.second);
      const { cause } = (await domException(holder.result, "AbortError")) as { cause?: { reason?: string } };
      same(cause?.reason, "closed", "the reason of the cause");
      check(signal?.aborted === true, "the signal is aborted");
    },
  },
  {
    name: "a lock has a signal, a fence and a token",
    needs: ["lock"],
    async run(t) {
      const lock = await (await t.held(t.name())).granted;
      check(lock.signal instanceof AbortSignal && !lock.signal.aborted, "the signal is not aborted");
      check(Number.isSafeInteger(lock.fence), "the fence is a whole number");
      check(typeof lock.token === "string" && lock.token.length >= 16, "the token is a long text");
    },
  },
  {
    name: "each lock has a token of its own, and a greater fence than the one before",
    needs: ["lock"],
    async run(t) {
      const name = t.name();
      const first = await t.held(name);
      const { fence = 0, token } = await first.granted;
      await first.done();
      const next = await (await t.held(name, {}, t.second)).granted;
      check((next.fence ?? 0) > fence, "the fence has risen");
      check(next.token !== token, "the token is another");
    },
  },
  {
    name: "the signal of a lock that was let go does not abort",
    needs: ["lock"],
    async run(t) {
      const name = t.name();
      const holder = await t.held(name);
      const { signal } = await holder.granted;
      await holder.done();
      await t.held(name, { steal: true });
      check(signal?.aborted === false, "it is not aborted");
    },
  },
];
