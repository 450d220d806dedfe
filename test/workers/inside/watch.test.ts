import { describe, expect, test } from "vitest";
import { type Session, World } from "./world.ts";

interface Told {
  readonly key: string;
  readonly status: string;
  readonly position?: number;
}

async function watch(session: Session, id: string, target: object): Promise<readonly Told[]> {
  session.send({ t: "watch", id, ...target });
  return (await session.next("state", id)).keys;
}

describe("a watch in an object that sleeps", () => {
  test("goes on after it, without a word of what was told before", async () => {
    const world = new World();
    const watcher = await world.open();
    const holder = await world.open();
    await watch(watcher, "w", { key: "a" });
    await world.sleep();
    const held = await holder.acquire("a");
    expect((await watcher.next("state", "w")).keys).toMatchObject([{ key: "a", status: "held" }]);
    await world.sleep();
    await holder.release(held);
    expect((await watcher.next("state", "w")).keys).toMatchObject([{ key: "a", status: "free" }]);
    await world.sleep();
    await world.call("other/acquire", {});
    expect(watcher.frames.filter((text) => text.includes('"state"'))).toEqual([]);
  });

  test("of a prefix tells of a key that was there before and is gone after it", async () => {
    const world = new World();
    const watcher = await world.open();
    const holder = await world.open();
    const held = await holder.acquire("doc:1");
    expect(await watch(watcher, "p", { prefix: "doc:" })).toMatchObject([{ key: "doc:1" }]);
    await world.sleep();
    await holder.release(held);
    expect((await watcher.next("state", "p")).keys).toMatchObject([{ key: "doc:1", status: "free" }]);
  });

  test("tells the place of a session that queued up before it", async () => {
    const world = new World();
    const [holder, first, second] = [await world.open(), await world.open(), await world.open()];
    const held = await holder.acquire("a");
    await first.acquire("a", { answer: "queued" });
    await second.acquire("a", { answer: "queued" });
    expect(await watch(second, "w", { key: "a" })).toMatchObject([{ position: 2 }]);
    await world.sleep();
    await holder.release(held);
    expect((await second.next("state", "w")).keys).toMatchObject([{ position: 1 }]);
  });

  test("does not come back when it was ended before", async () => {
    const world = new World();
    const watcher = await world.open();
    await watch(watcher, "w", { key: "a" });
    await watch(watcher, "v", { key: "a" });
    watcher.send({ t: "unwatch", id: "w" });
    await watcher.next("unwatched", "w");
    await world.sleep();
    await world.call("a/acquire", {});
    await watcher.next("state", "v");
    expect(watcher.frames.filter((text) => text.includes('"id":"w"'))).toEqual([]);
  });

  test("does not come back when it was refused before", async () => {
    const world = new World();
    const holder = await world.open();
    for (let i = 0; i < 1000; i += 200) {
      const keys = Array.from({ length: 200 }, (_, k) => `doc:${i + k}`);
      holder.send(keys.map((key) => ({ t: "acquire", id: key, key })));
      await holder.next("granted", keys.at(-1));
    }
    const [other, watcher] = [await world.open(), await world.open()];
    await other.acquire("doc:1000");
    watcher.send({ t: "watch", id: "p", prefix: "doc:" });
    expect(await watcher.next("refused", "p")).toMatchObject({ limit: "watched_keys" });
    await world.sleep();
    // Of the key that is watched now it is told, and of the one that was to be watched not.
    await watch(watcher, "w", { key: "doc:1001" });
    await other.acquire("doc:1001");
    await watcher.next("state", "w");
    await other.acquire("doc:1002");
    await watch(watcher, "v", { key: "doc:1002" });
    expect(watcher.frames.filter((text) => text.includes('"id":"p"'))).toEqual([]);
  });

  test("is one of a hundred where their keys are short: all of them are kept", async () => {
    const world = new World();
    const watcher = await world.open();
    for (let i = 0; i < 100; i++) await watch(watcher, `w${i}`, { key: `k${i}` });
    watcher.send({ t: "watch", id: "w100", key: "k" });
    expect(await watcher.next("refused", "w100")).toMatchObject({ code: "limit", limit: "watches" });
    await world.sleep();
    await world.call("k99/acquire", {});
    expect((await watcher.next("state", "w99")).keys).toMatchObject([{ key: "k99", status: "held" }]);
  });

  test("is refused where it does not fit with the others beside the socket, whatever their characters", async () => {
    for (const letter of ["x", "\u00e9", "\ud800"]) {
      const world = new World();
      const watcher = await world.open();
      const name = letter === "x" ? letter.repeat(249) : letter.repeat(80);
      // So many bytes each is counted for: two for each code unit of id and key, and 48.
      const each = 48 + 2 * (4 + name.length + 4);
      const count = Math.floor(12_000 / each);
      for (let i = 0; i < Math.min(count, 99); i++) {
        await watch(watcher, `w${100 + i}`, { key: `${name}k${100 + i}` });
      }
      const last = `w${100 + count}`;
      watcher.send({ t: "watch", id: last, key: `${name}k${100 + count}` });
      const answer = count < 100 ? "refused" : "state";
      expect(await watcher.next(answer, last)).toMatchObject(count < 100 ? { limit: "watches" } : { full: true });
      await world.sleep();
      await world.call(`${encodeURIComponent("a")}/acquire`, {});
      expect((await watcher.acquire(`${name}k100`)).fence).toBeGreaterThan(0);
      expect((await watcher.next("state", "w100")).keys).toMatchObject([{ status: "held" }]);
    }
  });
});
