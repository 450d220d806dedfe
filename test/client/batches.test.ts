import { describe, expect, test } from "vitest";
import { BATCH_FRAMES_MAX } from "../../src/protocol/limits.ts";
import { connected, grantOf, greet, held } from "./support/scripted-server.ts";
import { settle } from "./support/virtual-time.ts";

type Frame = { readonly t: string; readonly id: string };

describe("frames of one turn", () => {
  test("leave in one message, in the order in which they were asked for", async () => {
    const { server, lock } = await inTurns();
    const releasing = lock.release();
    const acquiring = server.client.acquire("k");
    await settle();
    const [text, ...others] = server.end().texts.splice(0);
    expect(others).toEqual([]);
    const [release, acquire] = JSON.parse(text!) as Frame[];
    expect([release?.t, acquire?.t]).toEqual(["release", "acquire"]);
    await server.end().sayBatch({ t: "released", id: release!.id, depth: 0 }, grantOf(acquire!.id, "k"));
    await releasing;
    expect((await acquiring).key).toBe("k");
  });

  test("are no batch when there is but one", async () => {
    const { server, lock } = await inTurns();
    lock.release().catch(() => undefined);
    await settle();
    expect(server.end().texts).toHaveLength(1);
    expect(server.end().sent()).toMatchObject([{ t: "release" }]);
  });

  test("fill as many messages as a batch may not", async () => {
    const { server } = await inTurns();
    const count = BATCH_FRAMES_MAX + 1;
    for (let i = 0; i < count; i++) server.client.acquire(`k${i}`).catch(() => undefined);
    await settle();
    const sizes = server.end().texts.map((text) => [JSON.parse(text) as unknown].flat().length);
    expect(sizes).toEqual([BATCH_FRAMES_MAX, 1]);
  });

  test("leave before the pong that answers a ping in that turn", async () => {
    const { server } = await inTurns();
    server.client.acquire("k").catch(() => undefined);
    server.end().onmessage?.({ data: "ping" } as never);
    expect(server.end().sent()).toMatchObject([{ t: "acquire" }, "pong"]);
  });

  test("leave before the client hangs up", async () => {
    const { server, lock } = await inTurns();
    lock.release().catch(() => undefined);
    server.client.close().catch(() => undefined);
    expect(server.end().closedWith).toEqual({ code: 1000 });
    const [message] = server.end().texts;
    expect(JSON.parse(message!)).toMatchObject([{ t: "release" }, { t: "bye" }]);
  });

  test("that never left with a connection are asked again on the next one", async () => {
    const { server } = await inTurns();
    const acquiring = server.client.acquire("k");
    server.end().onclose?.({ code: 1006 } as never);
    await settle();
    expect(server.end().texts).toEqual([]);
    await server.time.advance(60_000);
    await greet(server, { session: "session-2" });
    const { id } = server.end().one("acquire");
    await server.end().say(grantOf(id, "k"));
    expect((await acquiring).key).toBe("k");
  });
});

async function inTurns() {
  const server = await connected();
  const lock = await held(server, "k");
  server.end().texts.splice(0);
  server.time.afterTurn = (run) => queueMicrotask(run);
  return { server, lock };
}
