import { describe, expect, test } from "vitest";
import { SessionMachine } from "../../src/client/session-machine.ts";
import type { Output } from "../../src/client/session-types.ts";
import type { Welcome } from "../../src/protocol/server-frames.ts";
import { claimOf, grantOf, welcome } from "./support/scripted-server.ts";

/** A machine that is stepped by hand: what goes in, at which time, and what comes out. */
function machineOf(grace = 0) {
  const machine = new SessionMachine<string>({ grace }, () => 0.4);
  const out = (): Output<string>[] => {
    const outputs: Output<string>[] = [];
    for (let output = machine.take(); output !== undefined; output = machine.take()) outputs.push(output);
    return outputs;
  };
  const kinds = (): string[] => out().map((output) => output.kind);
  const connect = (now: number, members: Partial<Welcome> = {}): void => {
    machine.tick(now);
    machine.opened(undefined, now);
    machine.received(JSON.stringify(welcome({ grace, ...members })), now);
  };
  const hold = (now: number, lease?: number): void => {
    const entry = machine.claims(now).acquire("call", "a", { ttl: lease });
    const granted = lease === undefined ? {} : { ttl: lease, expires_in: lease };
    machine.received(JSON.stringify(grantOf(entry.id, "a", granted)), now);
  };
  machine.start(0);
  return { machine, out, kinds, connect, hold };
}

describe("the session machine", () => {
  test("says what it wants done, in order, and when it wants to be woken", () => {
    const { machine, out } = machineOf();
    expect(out()).toEqual([{ kind: "connect" }]);
    expect(machine.wakeAt).toBe(10_000);
    machine.opened("key", 100);
    expect(out()).toEqual([{ kind: "send", text: '{"t":"hello","v":1,"auth":"key","grace":0}' }]);
    machine.received(JSON.stringify(welcome()), 150);
    expect(out()).toEqual([{ kind: "status", status: "connected" }]);
    // The deadline from hello on, less the margin.
    expect(machine.wakeAt).toBe(100 + 13_500);
    const entry = machine.claims(200).acquire("call", "a", { timeout: 1_000 });
    expect(out()).toEqual([{ kind: "send", text: '{"t":"acquire","key":"a","id":"1","timeout":1000}' }]);
    expect(machine.wakeAt).toBe(1_200 + 2_000);
    const grant = grantOf(entry.id, "a");
    machine.received(JSON.stringify(grant), 300);
    expect(out()).toMatchObject([{ kind: "granted", call: "call", hold: { key: "a", token: grant.token } }]);
    expect(machine.holding).toBe(true);
    machine.closed(1006, 400);
    expect(out()).toMatchObject([
      { kind: "lost", error: { reason: "dropped" } },
      { kind: "status", status: "reconnecting" },
    ]);
    expect(machine.holding).toBe(false);
    expect(machine.wakeAt).toBe(400 + 0.4 * 250);
    machine.tick(499);
    expect(out()).toEqual([]);
    machine.tick(500);
    expect(out()).toEqual([{ kind: "connect" }]);
  });

  test("is woken at nothing when it is closed", () => {
    const { machine, kinds, connect } = machineOf();
    connect(0);
    machine.close(100);
    expect(kinds()).toEqual(["connect", "send", "status", "send", "disconnect", "status"]);
    expect(machine.wakeAt).toBe(Number.POSITIVE_INFINITY);
    machine.close(200);
    machine.closed(1000, 300);
    machine.opened(undefined, 300);
    machine.received("ping", 300);
    machine.tick(1_000_000);
    expect(kinds()).toEqual([]);
  });

  test("hears nothing from a socket that it has given up", () => {
    const { machine, kinds, connect } = machineOf();
    connect(0);
    machine.closed(1006, 100);
    kinds();
    machine.closed(4401, 110);
    machine.opened(undefined, 110);
    machine.received("ping", 110);
    machine.received(JSON.stringify(welcome()), 110);
    expect(kinds()).toEqual([]);
    expect(machine.status).toBe("reconnecting");
  });

  test.each([
    ["a text", (machine: SessionMachine<string>) => machine.received('{"t":"news","id":"x"}', 950)],
    ["a close", (machine: SessionMachine<string>) => machine.closed(1006, 950)],
    ["its own close", (machine: SessionMachine<string>) => machine.close(950)],
    ["a call", (machine: SessionMachine<string>) => machine.claims(950).request("other", { t: "status", key: "b" })],
  ])("serves what is over by the clock before %s", (_, input) => {
    const { machine, out, connect, hold } = machineOf();
    connect(0);
    hold(0, 1_000);
    out();
    input(machine);
    expect(out()[0]).toMatchObject({ kind: "lost", error: { reason: "expired" } });
  });

  test("gives an attempt up that took too long, before it looks at the socket that opened at last", () => {
    const { machine, kinds } = machineOf();
    kinds();
    machine.opened(undefined, 10_000);
    expect(kinds()).toEqual(["disconnect"]);
  });

  test("tells only what this connection said when it was refused", () => {
    const { machine, out, connect } = machineOf();
    connect(0);
    machine.received('{"t":"error","code":"bad_request","detail":"a frame without an id"}', 100);
    machine.closed(1006, 200);
    machine.tick(1_000);
    machine.opened(undefined, 1_000);
    machine.closed(4403, 1_100);
    const closed = out().at(-1);
    expect(closed).toMatchObject({ kind: "status", status: "closed", error: { closeCode: 4403 } });
    expect(String(closed?.kind === "status" && closed.error)).not.toContain("a frame without an id");
  });

  test("loses what it holds, also what was to be kept, when it is taken over", () => {
    const { machine, out, connect } = machineOf(60_000);
    connect(0);
    const entry = machine.claims(0).acquire("call", "a", { ttl: 30_000, keep: true });
    machine.received(JSON.stringify(grantOf(entry.id, "a", { ttl: 30_000, expires_in: 30_000 })), 0);
    out();
    machine.closed(4409, 100);
    expect(out()).toMatchObject([
      { kind: "lost", error: { reason: "dropped" } },
      { kind: "status", status: "closed" },
    ]);
  });

  test("takes no ack for a pong of the connection before", () => {
    const { machine, connect, hold } = machineOf(60_000);
    connect(0);
    hold(0);
    machine.received("ping", 1_000);
    machine.closed(1006, 2_000);
    connect(3_000, { resumed: true, claims: [claimOf("1", "a", "holding")] });
    machine.received("ping", 8_000);
    machine.received("ack", 8_100);
    expect(machine.wakeAt).toBe(8_000 + 13_500);
  });

  test("goes on connecting when the hope for what was held is over", () => {
    const { machine, kinds, connect, hold } = machineOf(3_000);
    connect(0);
    hold(0);
    machine.closed(1006, 1_000);
    machine.tick(1_500);
    kinds();
    machine.tick(2_700);
    expect(kinds()).toEqual(["lost"]);
    machine.opened(undefined, 2_800);
    expect(kinds()).toEqual(["send"]);
  });

  test("after a resume hopes anew at the next loss, for as long as the grace lasts", () => {
    const { machine, kinds, connect, hold } = machineOf(20_000);
    connect(0);
    hold(0);
    machine.closed(1006, 1_000);
    connect(10_000, { resumed: true, claims: [claimOf("1", "a", "holding")] });
    kinds();
    machine.tick(10_000 + 13_500);
    expect(kinds()).toEqual(["status", "disconnect"]);
    machine.tick(10_000 + 18_000);
    expect(kinds()).toContain("lost");
  });

  test("answers a ping that comes before the welcome", () => {
    const { machine, out } = machineOf();
    machine.opened(undefined, 0);
    out();
    machine.received("ping", 10);
    expect(out()).toEqual([{ kind: "send", text: "pong" }]);
  });

  test("without a heartbeat counts the grace from the close", () => {
    const { machine, out, connect, hold } = machineOf(10_000);
    connect(0, { ping: 0, deadline: 0 });
    hold(0);
    machine.tick(600_000);
    out();
    machine.closed(1006, 600_000);
    machine.opened(undefined, 600_000);
    machine.closed(1006, 600_050);
    expect(out().map(({ kind }) => kind)).not.toContain("lost");
    machine.tick(608_999);
    expect(out().map(({ kind }) => kind)).not.toContain("lost");
    machine.tick(609_000);
    expect(out()).toContainEqual(expect.objectContaining({ kind: "lost" }));
  });

  test("without a heartbeat does not count the grace again from a failed attempt to resume", () => {
    const { machine, out, connect, hold } = machineOf(10_000);
    connect(0, { ping: 0, deadline: 0 });
    hold(0);
    machine.closed(1006, 100_000);
    machine.tick(101_000);
    machine.opened(undefined, 101_000);
    machine.closed(1006, 102_000);
    out();
    machine.tick(109_000);
    expect(out()).toContainEqual(expect.objectContaining({ kind: "lost" }));
  });
});
