import { describe, expect, test } from "vitest";
import { type ConnectOptions, UnavailableError } from "../../src/client/index.ts";
import { grantOf, greet, held, type Scripted, scripted, welcome } from "./support/scripted-server.ts";
import { outcome, settle } from "./support/virtual-time.ts";

/** A window without a browser: what the document is told, it hears as well. */
class FakePage extends EventTarget {
  readonly document = { hidden: false };
  readonly listeners = new Set<unknown>();
  /** What was ever listened for. */
  readonly types = new Set<string>();

  override addEventListener(...args: Parameters<EventTarget["addEventListener"]>): void {
    super.addEventListener(...args);
    this.listeners.add(args[1]);
    this.types.add(args[0]);
    const options = args[2] as { readonly capture?: boolean; readonly signal?: AbortSignal };
    options.signal?.addEventListener("abort", () => this.listeners.delete(args[1]));
  }

  async tell(type: string, hidden = false): Promise<void> {
    this.document.hidden = hidden;
    this.dispatchEvent(new Event(type));
    await settle();
  }
}

interface Visited extends Scripted {
  readonly page: FakePage;
}

async function visited(options: ConnectOptions = {}): Promise<Visited> {
  const page = new FakePage();
  const server = await scripted(options, undefined, page);
  await greet(server, { grace: options.grace ?? 0 });
  // A welcome proves that the connection lives, so none is probed in the same instant.
  await server.time.advance(1);
  return { ...server, page };
}

describe.each(["pagehide", "freeze"])("on %s", (leaving) => {
  test("everything is lost before the server is told, and the socket is closed normally", async () => {
    const server = await visited();
    const lock = await held(server, "doc");
    const told: unknown[] = [];
    lock.signal.addEventListener("abort", () => told.push(...server.end().texts));
    server.page.dispatchEvent(new Event(leaving));
    expect(lock.signal.aborted).toBe(true);
    expect(told).toEqual([]);
    expect((await lock.lost).reason).toBe("dropped");
    expect(server.end().sent()).toEqual([{ t: "bye" }]);
    expect(server.end().closedWith).toEqual({ code: 1000 });
    expect(server.client.connection).toBe("reconnecting");
    expect(server.client.session).toBeUndefined();
  });

  test("a session with a grace says good-bye as well, and is not resumed", async () => {
    const server = await visited({ grace: 20_000 });
    const lock = await held(server, "doc");
    await server.page.tell(leaving);
    expect(lock.signal.aborted).toBe(true);
    expect(server.end().sent()).toEqual([{ t: "bye" }]);
    await server.page.tell("pageshow");
    expect(await greet(server, { session: "session-2" })).not.toHaveProperty("resume");
  });

  test("nothing is done until the page is back, however long that takes", async () => {
    const server = await visited();
    await server.page.tell(leaving);
    await server.time.advance(3_600_000);
    expect(server.ends).toHaveLength(1);
    expect(server.time.timers).toBe(0);
  });

  test("a wait is refused", async () => {
    const server = await visited();
    const waiting = server.client.acquire("doc", { timeout: 60_000 });
    await server.page.tell(leaving);
    const error = await outcome(waiting);
    expect(error).toBeInstanceOf(UnavailableError);
    expect(error).toMatchObject({ code: "away", retryable: true });
  });

  test("with `requeue` a wait goes on with the time that is left, and queues anew when the page is back", async () => {
    const server = await visited({ requeue: true });
    const waiting = server.client.acquire("doc", { timeout: 60_000 });
    await settle();
    server.end().one("acquire");
    await server.page.tell(leaving);
    await server.time.advance(20_000);
    await server.page.tell("pageshow");
    await server.end().open();
    server.end().one("hello");
    await server.end().say(welcomeAgain);
    const again = server.end().one("acquire");
    expect(again).toMatchObject({ key: "doc", timeout: 40_000 });
    await server.end().say(grantOf(again.id, "doc"));
    expect((await waiting).key).toBe("doc");
  });

  test("a connection that is just being made is given up", async () => {
    const page = new FakePage();
    const server = await scripted({}, undefined, page);
    await server.end().open();
    server.end().one("hello");
    await page.tell(leaving);
    expect(server.end().sent()).toEqual([{ t: "bye" }]);
    expect(server.end().closedWith).toEqual({ code: 1000 });
    await server.time.advance(60_000);
    expect(server.ends).toHaveLength(1);
  });

  test("a kept lock is not lost", async () => {
    const server = await visited();
    const lock = await held(server, "doc", { keep: true, ttl: 60_000 }, { expires_in: 60_000 });
    await server.page.tell(leaving);
    expect(lock.signal.aborted).toBe(false);
  });

  test("with `pageLife` off nothing happens", async () => {
    const server = await visited({ pageLife: "off" });
    const lock = await held(server, "doc");
    await server.page.tell(leaving);
    expect(lock.signal.aborted).toBe(false);
    expect(server.page.listeners.size).toBe(0);
  });
});

const welcomeAgain = welcome({ session: "session-2", secret: "secret-2" });

const WAKING = ["pageshow", "resume", "online", "visibilitychange"];

describe.each(WAKING)("on %s", (waking) => {
  test("a page that was away connects at once", async () => {
    const server = await visited();
    await server.page.tell("pagehide");
    await server.page.tell(waking);
    expect(server.ends).toHaveLength(2);
    await greet(server, { session: "session-2" });
    expect(server.client.connection).toBe("connected");
    expect(server.client.session).toBe("session-2");
  });

  test("the pause before the next attempt is over", async () => {
    const server = await visited();
    await server.end().drop();
    expect(server.ends).toHaveLength(1);
    await server.page.tell(waking);
    expect(server.ends).toHaveLength(2);
  });

  test("an attempt that was under way by then and fails is soon followed by another, however many failed before", async () => {
    const server = await visited({ reconnect: { baseMs: 100, capMs: 60_000 } });
    server.time.chance = 0.999;
    for (let failures = 0; failures < 7; failures++) {
      await server.end().drop();
      await server.time.advance(100 * 2 ** failures);
    }
    expect(server.ends).toHaveLength(8);
    await server.page.tell(waking);
    expect(server.ends).toHaveLength(8);
    await server.end().drop();
    await server.time.advance(200);
    expect(server.ends).toHaveLength(9);
  });

  test("what has passed its deadline is lost before listeners of the page run", async () => {
    const server = await visited();
    const lock = await held(server, "doc");
    const { signal } = lock;
    let seen: boolean | undefined;
    server.page.addEventListener(
      waking,
      () => {
        seen = signal.aborted;
      },
      { capture: true },
    );
    server.time.suspend(15_000);
    await server.page.tell(waking);
    expect(seen).toBe(true);
  });

  test("a connection that looks open is probed, and is kept when it answers", async () => {
    const server = await visited();
    const lock = await held(server, "doc");
    await server.page.tell(waking);
    expect(server.end().sent()).toEqual(["pong"]);
    await server.time.advance(2_999);
    await server.end().say("ack");
    await server.time.advance(5_000);
    expect(lock.signal.aborted).toBe(false);
    expect(server.ends).toHaveLength(1);
  });

  test("a connection that does not answer within 3 s is given up", async () => {
    const server = await visited();
    const lock = await held(server, "doc");
    await server.page.tell(waking);
    await server.time.advance(2_999);
    expect(lock.signal.aborted).toBe(false);
    await server.time.advance(1);
    expect(lock.signal.aborted).toBe(true);
    await server.time.advance(500);
    expect(server.ends).toHaveLength(2);
  });
});

describe("a probe", () => {
  test("is sent once, whatever else happens to the page meanwhile", async () => {
    const server = await visited();
    for (const waking of WAKING) await server.page.tell(waking);
    expect(server.end().sent()).toEqual(["pong"]);
  });

  test("counts as life from when it was sent", async () => {
    const server = await visited();
    const lock = await held(server, "doc");
    await server.time.advance(10_000);
    await server.page.tell("online");
    await server.end().say("ack");
    await server.time.advance(10_000);
    expect(lock.signal.aborted).toBe(false);
  });

  test("is not judged by a page that was too busy to hear the answer", async () => {
    const server = await visited();
    const lock = await held(server, "doc");
    await server.page.tell("visibilitychange");
    server.end().sent();
    server.time.block(4_000);
    expect(lock.signal.aborted).toBe(false);
    expect(server.end().sent()).toEqual(["pong"]);
    await server.end().say("ack", "ack");
    await server.time.advance(4_000);
    expect(lock.signal.aborted).toBe(false);
  });

  test("is not sent where there is no heartbeat", async () => {
    const page = new FakePage();
    const server = await scripted({}, undefined, page);
    await greet(server, { ping: 0, deadline: 0 });
    await page.tell("online");
    expect(server.end().sent()).toEqual([]);
  });

  test("is sent by a timer that comes more than 5 s late", async () => {
    const server = await visited();
    await held(server, "doc");
    server.time.suspend(4_900);
    await server.time.advance(1_000);
    expect(server.end().sent()).toEqual([]);
    server.time.suspend(5_100);
    await server.time.advance(1_000);
    expect(server.end().sent()).toEqual(["pong"]);
  });
});

describe("a page", () => {
  test("is not listened to for `beforeunload`, after which it may stay, nor for `unload`, which keeps it from being cached", async () => {
    const server = await visited();
    expect([...server.page.types].toSorted()).toEqual(["freeze", "pagehide", ...WAKING].toSorted());
    const lock = await held(server, "doc");
    for (const type of ["beforeunload", "unload"]) await server.page.tell(type);
    expect(lock.signal.aborted).toBe(false);
    expect(server.end().sent()).toEqual([]);
  });

  test("that is only hidden keeps what it holds for hours, and is not asked for anything", async () => {
    const server = await visited();
    const lock = await held(server, "doc");
    await server.page.tell("visibilitychange", true);
    expect(server.end().sent()).toEqual([]);
    // Messages come in time; timers, at best, once a minute.
    for (let minute = 0; minute < 180; minute++) {
      for (let beats = 0; beats < 12; beats++) {
        server.time.block(5_000);
        await server.end().say("ping");
        expect(server.end().sent()).toContain("pong");
        await server.end().say("ack");
      }
      await server.time.advance(0);
      for (const frame of server.end().sent()) if (frame === "pong") await server.end().say("ack");
    }
    expect(lock.signal.aborted).toBe(false);
    expect(server.ends).toHaveLength(1);
  });

  test("is not listened to any more once the client is closed", async () => {
    const server = await visited();
    expect(server.page.listeners.size).toBeGreaterThan(0);
    const closing = server.client.close();
    await server.end().drop(1000);
    await closing;
    expect(server.page.listeners.size).toBe(0);
  });

  test("is not listened to by a client that the server has closed for good", async () => {
    const server = await visited();
    await server.end().drop(4403);
    expect(server.page.listeners.size).toBe(0);
  });

  test("that was left while it could not say so lets go of what it held all the same", async () => {
    const server = await visited({ grace: 60_000 });
    const lock = await held(server, "doc");
    await server.end().drop();
    expect(lock.signal.aborted).toBe(false);
    await server.page.tell("pagehide");
    expect(lock.signal.aborted).toBe(true);
  });
});
