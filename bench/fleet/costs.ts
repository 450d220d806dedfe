/** What things cost Redis, measured on one that has nothing else to do meanwhile. */

import { createClient } from "redis";
import type { Command } from "../../src/core/index.ts";
import type { Connector } from "../../src/fleet/connector.ts";
import { connectTcp } from "../../src/fleet/tcp.ts";
import { median } from "../figures.ts";
import { channelOf, Member } from "./member.ts";
import type { Meter } from "./meter.ts";
import type { Costs } from "./model.ts";

const OPERATIONS = 300;
const ROUNDS = 5;
const CROWD = 1000;

export interface Measured extends Costs {
  /** Commands that come together share what a call costs by itself: a command in calls of 32. */
  readonly batchedMicros: number;
  /** The time in the script, as SLOWLOG and LATENCY would show it, for a call that has nothing to do. */
  readonly emptyScriptMicros: number;
}

interface Work {
  readonly name: keyof Measured;
  readonly once: (i: number) => Promise<unknown>;
  /** Operations that `once` does. */
  readonly count?: number;
}

export async function measureCosts(url: string, meter: Meter): Promise<Measured> {
  await using stack = new AsyncDisposableStack();
  const connector = connectTcp(url);
  stack.defer(() => connector.close());
  const works = await prepare(stack, connector, url);
  const found = new Map<string, number[]>(works.map(({ name }) => [name, []]));
  const scripts: number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    for (const { name, once, count = 1 } of works) {
      const { redisMs, scriptMs } = await meter.spent(async () => {
        for (let i = 0; i < OPERATIONS; i++) await once(round * OPERATIONS + i);
      });
      if (round === 0) continue;
      found.get(name)?.push((redisMs * 1000) / OPERATIONS / count);
      if (name === "emptyMicros") scripts.push((scriptMs * 1000) / OPERATIONS);
    }
  }
  const micros = Object.fromEntries([...found].map(([name, each]) => [name, median(each)]));
  // The acquire before it is none of its cost.
  const { pairMicros = 0, expiryMicros = 0 } = micros;
  return {
    ...(micros as unknown as Measured),
    expiryMicros: expiryMicros - pairMicros / 2,
    emptyScriptMicros: median(scripts),
    ...(await measureMemory(connector, meter)),
  };
}

async function prepare(stack: AsyncDisposableStack, connector: Connector, url: string): Promise<readonly Work[]> {
  const join = async (space: string, now?: number): Promise<Member> => {
    const member = new Member(connector, space, now);
    await member.call(member.open());
    stack.defer(() => member.leave());
    return member;
  };
  const [idle, alone, batching, renewing, coming] = await Promise.all(
    ["idle", "alone", "batching", "renewing", "coming"].map((space) => join(space)),
  );
  const [one, other] = [await join("shared"), await join("shared")];
  // Their own time: nobody waits here until a lease has ended.
  const expiring = await join("expiring", 1_000_000);
  for (const { name } of [one, other]) {
    const heard = connector.subscribe(channelOf(name), { message: () => undefined, listening: () => undefined });
    stack.defer(() => heard.close());
  }
  await one.call(one.acquire("k", "c-0"));
  await renewing!.call(renewing!.acquire("k", "t", { ttlMs: 60_000 }));
  const client = createClient({ url });
  await client.connect();
  stack.defer(() => client.destroy());
  return [
    { name: "emptyMicros", once: () => idle!.call() },
    {
      name: "pairMicros",
      once: (i) => inTurn(alone!, [alone!.acquire("k", `p-${i}`)], [alone!.release("k", `p-${i}`)]),
    },
    { name: "batchedMicros", count: 32, once: (i) => batching!.call(...batchOf(batching!, i)) },
    { name: "contendedMicros", once: (i) => passOn(i % 2 === 0 ? [one, other] : [other, one], i) },
    {
      name: "renewalMicros",
      once: (i) =>
        renewing!.call({
          kind: "extend",
          from: renewing!.name,
          request: `e-${i}`,
          key: "k",
          token: "t",
          ttlMs: 60_000,
        }),
    },
    {
      name: "expiryMicros",
      once: async (i) => {
        await expiring.call(expiring.acquire("k", `x-${i}`, { ttlMs: 1000 }));
        expiring.passed(1001);
        await expiring.call();
      },
    },
    {
      name: "sessionMicros",
      once: (i) => inTurn(coming!, [coming!.open(`s-${i}`)], [{ kind: "bye", session: `s-${i}` }]),
    },
    { name: "pushMicros", once: () => client.publish("latchkey-bench:nobody", "x".repeat(300)) },
  ];
}

/** The second waits, the first lets go, and the second is told. */
async function passOn([holder, next]: readonly [Member, Member], i: number): Promise<void> {
  await next.call(next.acquire("k", `c-${i + 1}`));
  await holder.call(holder.release("k", `c-${i}`));
}

function batchOf(member: Member, i: number): readonly Command[] {
  return Array.from({ length: 16 }, (_, n) => {
    const id = `b-${i}-${n}`;
    return [member.acquire(`k${n}`, id), member.release(`k${n}`, id)];
  }).flat();
}

async function inTurn(member: Member, ...calls: readonly (readonly Command[])[]): Promise<void> {
  for (const commands of calls) await member.call(...commands);
}

async function measureMemory(connector: Connector, meter: Meter): Promise<Pick<Costs, "sessionBytes" | "spaceBytes">> {
  const before = await meter.memoryBytes();
  const members = Array.from({ length: 100 }, (_, i) => new Member(connector, `small-${i}`));
  for (const member of members) await member.call(member.open());
  const spaceBytes = ((await meter.memoryBytes()) - before) / members.length;
  const crowd = new Member(connector, "crowd");
  await crowd.call();
  const empty = await meter.memoryBytes();
  for (let i = 0; i < CROWD; i++) {
    const from = `session-of-usual-length-${i}`;
    await crowd.call(crowd.open(from), { ...crowd.acquire(`key-${i}`, `token-of-usual-length-${i}`), from } as Command);
  }
  const sessionBytes = ((await meter.memoryBytes()) - empty) / CROWD;
  for (const member of [...members, crowd]) await member.leave();
  return { sessionBytes, spaceBytes };
}
