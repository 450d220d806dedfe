import { describe, expect, test } from "vitest";
import { askAcquire, askOther } from "../../src/client/claim-asks.ts";
import * as resume from "../../src/client/resume.ts";
import { SessionMachine } from "../../src/client/session-machine.ts";
import type { Answer, Call, Held, Wanted } from "../../src/client/session-types.ts";
import type { Welcome } from "../../src/protocol/server-frames.ts";
import { claimOf, grantOf, welcome } from "./support/scripted-server.ts";

/** What the machine has done in its world, and told callers. */
interface Output {
  readonly kind: string;
  readonly [member: string]: unknown;
}

/** A machine that is stepped by hand: what goes in, at which time, and what comes out. */
function machineOf(grace = 0) {
  let outputs: Output[] = [];
  const machine = new SessionMachine(
    { grace },
    {
      ports: { random: () => 0.4 },
      socket: {
        open: () => outputs.push({ kind: "connect" }),
        send: (text) => outputs.push({ kind: "send", text }),
        hangUp: (code) => outputs.push({ kind: "disconnect", code }),
      },
      changed: (status, error) => outputs.push({ kind: "status", status, error }),
      onError: (error, { where }) => outputs.push({ kind: "trouble", error, where }),
    },
  );
  if (grace > 0) machine.resuming = resume;
  const out = (): Output[] => {
    const taken = outputs;
    outputs = [];
    return taken;
  };
  const call: Call = {
    tell(told: Answer | Held) {
      if (!("grant" in told)) return;
      outputs.push({ kind: "granted", hold: told });
      told.grant.signal.addEventListener("abort", () =>
        outputs.push({ kind: "lost", error: told.grant.signal.reason }),
      );
    },
    refuse: (error) => outputs.push({ kind: "failed", error }),
  };
  const kinds = (): string[] => out().map((output) => output.kind);
  const tick = (now: number): void => machine.step(now, () => undefined);
  const opened = (now: number, auth?: string): void => machine.step(now, () => machine.opened(auth));
  const received = (text: string, now: number): void => machine.step(now, () => machine.received(text));
  const closed = (code: number, now: number): void => machine.step(now, () => machine.closed(code));
  const close = (now: number): void => machine.step(now, () => machine.close());
  const acquire = (now: number, wanted: Wanted = {}): string =>
    machine.step(now, (book) => askAcquire("a", wanted)(book, call).id);
  const ask = (now: number): unknown => machine.step(now, (book) => askOther({ t: "status", key: "b" })(book, call));
  const connect = (now: number, members: Partial<Welcome> = {}): void => {
    tick(now);
    opened(now);
    received(JSON.stringify(welcome({ grace, ...members })), now);
  };
  const hold = (now: number, lease?: number): void => {
    const id = acquire(now, { ttl: lease });
    const granted = lease === undefined ? {} : { ttl: lease, expires_in: lease };
    received(JSON.stringify(grantOf(id, "a", granted)), now);
  };
  machine.step(0, () => machine.wake());
  return { machine, out, kinds, tick, opened, received, closed, close, acquire, ask, connect, hold };
}

type Stepped = ReturnType<typeof machineOf>;

describe("the session machine", () => {
  test("says what it wants done, in order, and when it wants to be woken", () => {
    const { machine, out, tick, opened, received, closed, acquire } = machineOf();
    expect(out()).toEqual([{ kind: "connect" }]);
    expect(machine.wakeAt).toBe(10_000);
    opened(100, "key");
    expect(out()).toEqual([{ kind: "send", text: '{"t":"hello","v":1,"auth":"key","grace":0}' }]);
    received(JSON.stringify(welcome()), 150);
    expect(out()).toEqual([{ kind: "status", status: "connected" }]);
    // The deadline from hello on, less the margin.
    expect(machine.wakeAt).toBe(100 + 13_500);
    const id = acquire(200, { timeout: 1_000 });
    expect(out()).toEqual([{ kind: "send", text: '{"t":"acquire","key":"a","timeout":1000,"id":"1"}' }]);
    expect(machine.wakeAt).toBe(1_200 + 2_000);
    const grant = grantOf(id, "a");
    received(JSON.stringify(grant), 300);
    expect(out()).toMatchObject([{ kind: "granted", hold: { key: "a", token: grant.token } }]);
    expect(machine.holds.size).toBe(1);
    closed(1006, 400);
    expect(out()).toMatchObject([
      { kind: "lost", error: { reason: "dropped" } },
      { kind: "status", status: "reconnecting" },
    ]);
    expect(machine.holds.size).toBe(0);
    expect(machine.wakeAt).toBe(400 + 0.4 * 250);
    tick(499);
    expect(out()).toEqual([]);
    tick(500);
    expect(out()).toEqual([{ kind: "connect" }]);
  });

  test("is woken at nothing when it is closed", () => {
    const { machine, kinds, tick, opened, received, closed, close, connect } = machineOf();
    connect(0);
    close(100);
    expect(kinds()).toEqual(["connect", "send", "status", "send", "disconnect", "status"]);
    expect(machine.wakeAt).toBe(Number.POSITIVE_INFINITY);
    close(200);
    closed(1000, 300);
    opened(300);
    received("ping", 300);
    tick(1_000_000);
    expect(kinds()).toEqual([]);
  });

  test("hears nothing from a socket that it has given up", () => {
    const { machine, kinds, opened, received, closed, connect } = machineOf();
    connect(0);
    closed(1006, 100);
    kinds();
    closed(4401, 110);
    opened(110);
    received("ping", 110);
    received(JSON.stringify(welcome()), 110);
    expect(kinds()).toEqual([]);
    expect(machine.status).toBe("reconnecting");
  });

  test.each([
    ["a text", ({ received }: Stepped) => received('{"t":"news","id":"x"}', 950)],
    ["a close", ({ closed }: Stepped) => closed(1006, 950)],
    ["its own close", ({ close }: Stepped) => close(950)],
    ["a call", ({ ask }: Stepped) => ask(950)],
  ])("serves what is over by the clock before %s", (_, input) => {
    const stepped = machineOf();
    const { out, connect, hold } = stepped;
    connect(0);
    hold(0, 1_000);
    out();
    input(stepped);
    expect(out()[0]).toMatchObject({ kind: "lost", error: { reason: "expired" } });
  });

  test("gives an attempt up that took too long, before it looks at the socket that opened at last", () => {
    const { kinds, opened } = machineOf();
    kinds();
    opened(10_000);
    expect(kinds()).toEqual(["disconnect"]);
  });

  test("tells only what this connection said when it was refused", () => {
    const { out, tick, opened, received, closed, connect } = machineOf();
    connect(0);
    received('{"t":"error","code":"bad_request","detail":"a frame without an id"}', 100);
    closed(1006, 200);
    tick(1_000);
    opened(1_000);
    closed(4403, 1_100);
    const last = out().at(-1);
    expect(last).toMatchObject({ kind: "status", status: "closed", error: { closeCode: 4403 } });
    expect(String(last?.["error"])).not.toContain("a frame without an id");
  });

  test("loses what it holds, also what was to be kept, when it is taken over", () => {
    const { out, received, closed, acquire, connect } = machineOf(60_000);
    connect(0);
    const id = acquire(0, { ttl: 30_000, keep: true });
    received(JSON.stringify(grantOf(id, "a", { ttl: 30_000, expires_in: 30_000 })), 0);
    out();
    closed(4409, 100);
    expect(out()).toMatchObject([
      { kind: "lost", error: { reason: "dropped" } },
      { kind: "status", status: "closed" },
    ]);
  });

  test("takes no ack for a pong of the connection before", () => {
    const { machine, received, closed, connect, hold } = machineOf(60_000);
    connect(0);
    hold(0);
    received("ping", 1_000);
    closed(1006, 2_000);
    connect(3_000, { resumed: true, claims: [claimOf("1", "a", "holding")] });
    received("ping", 8_000);
    received("ack", 8_100);
    expect(machine.wakeAt).toBe(8_000 + 13_500);
  });

  test("goes on connecting when the hope for what was held is over", () => {
    const { kinds, tick, opened, closed, connect, hold } = machineOf(3_000);
    connect(0);
    hold(0);
    closed(1006, 1_000);
    tick(1_500);
    kinds();
    tick(2_700);
    expect(kinds()).toEqual(["lost"]);
    opened(2_800);
    expect(kinds()).toEqual(["send"]);
  });

  test("after a resume hopes anew at the next loss, for as long as the grace lasts", () => {
    const { kinds, tick, closed, connect, hold } = machineOf(20_000);
    connect(0);
    hold(0);
    closed(1006, 1_000);
    connect(10_000, { resumed: true, claims: [claimOf("1", "a", "holding")] });
    kinds();
    tick(10_000 + 13_500);
    expect(kinds()).toEqual(["status", "disconnect"]);
    tick(10_000 + 18_000);
    expect(kinds()).toContain("lost");
  });

  test("answers a ping that comes before the welcome", () => {
    const { out, opened, received } = machineOf();
    opened(0);
    out();
    received("ping", 10);
    expect(out()).toEqual([{ kind: "send", text: "pong" }]);
  });

  test("without a heartbeat counts the grace from the close", () => {
    const { out, tick, opened, closed, connect, hold } = machineOf(10_000);
    connect(0, { ping: 0, deadline: 0 });
    hold(0);
    tick(600_000);
    out();
    closed(1006, 600_000);
    opened(600_000);
    closed(1006, 600_050);
    expect(out().map(({ kind }) => kind)).not.toContain("lost");
    tick(608_999);
    expect(out().map(({ kind }) => kind)).not.toContain("lost");
    tick(609_000);
    expect(out()).toContainEqual(expect.objectContaining({ kind: "lost" }));
  });

  test("without a heartbeat does not count the grace again from a failed attempt to resume", () => {
    const { out, tick, opened, closed, connect, hold } = machineOf(10_000);
    connect(0, { ping: 0, deadline: 0 });
    hold(0);
    closed(1006, 100_000);
    tick(101_000);
    opened(101_000);
    closed(1006, 102_000);
    out();
    tick(109_000);
    expect(out()).toContainEqual(expect.objectContaining({ kind: "lost" }));
  });
});
