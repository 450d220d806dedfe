import { statSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { ClaimRecord } from "../../src/core/record.ts";
import type { Batch } from "../../src/host/ports.ts";
import type { SqlDriver } from "../../src/stores/driver.ts";
import { type FileOptions, openFile } from "../../src/stores/file.ts";
import { calm, type CalmStore, driverOfRuntime, temporaryFolder } from "./drivers.ts";
import { acquire, batch, claims, gone, holding, session, TestClock, TTL_MS, waiting } from "./records.ts";

const driver = await driverOfRuntime();
let path: string;
let clock: TestClock;

beforeEach(() => {
  path = join(temporaryFolder(onTestFinished), "latchkey.db");
  clock = new TestClock();
});

function open(options: Partial<FileOptions> = {}): CalmStore {
  const store = calm(driver.open(path, { clock, waitMs: 0, ...options }));
  onTestFinished(() => store.close());
  return store;
}

/** Together with the connection that writes. */
function openedBy(options: FileOptions): { readonly store: CalmStore; readonly connection: SqlDriver } {
  const named = new Map<string, SqlDriver>();
  const connect = (name: string): SqlDriver => {
    const connection = driver.connect(name);
    // The first of two that a file is viewed by.
    if (!named.has(name)) named.set(name, connection);
    return connection;
  };
  const store = calm(openFile(path, options, connect));
  onTestFinished(() => store.close());
  const [, connection = named.get(path)] = [...named].find(([name]) => name.includes("unix-excl")) ?? [];
  return { store, connection: connection as SqlDriver };
}

/** What the next process finds, whose engine clock has started anew. */
function afterRestart(store: CalmStore, downMs = 0): CalmStore {
  store.close();
  clock = new TestClock(50, clock.wallMs + downMs);
  return open();
}

/** The database itself, without the store's checks. */
function raw(work: (driver: SqlDriver) => void): void {
  const connection = driver.connect(path);
  work(connection);
  connection.close();
}

function onlyClaim(store: CalmStore): ClaimRecord {
  const found = store.load("default").image.claims;
  expect(found).toHaveLength(1);
  return found[0]!;
}

describe(`the store over ${driver.name}`, () => {
  test("every field of a claim comes back", () => {
    const full = gone(2 ** 51, {
      asked: acquire({
        from: "session-1",
        request: "r\u0000'\"",
        session: true,
        key: "ключ/🔑",
        mode: "shared",
        limit: 3,
        token: "token-0",
        nest: true,
        steal: false,
        keep: true,
        meta: '{"name":"\\ud800"}',
        message: "may I?",
      }),
      session: "session-1",
      depth: 5,
      outcome: "stolen",
      by: { session: "session-2", meta: '"m"', message: "mine" },
      nested: [
        { from: "@a", request: "1", depth: 2 },
        { from: "@b", request: "2", depth: 3 },
      ],
      unnested: { from: "@a", request: "3", depth: 2 },
      abandoned: true,
      deadline: clock.nowMs + 60_000,
    });
    const store = open();
    store.commit("default", claims(full));

    const found = onlyClaim(store);
    expect({ ...found, deadline: full.deadline, grantedAt: full.grantedAt }).toStrictEqual(full);
    expect(Math.abs(found.deadline - full.deadline)).toBeLessThanOrEqual(2);
    expect(Math.abs(found.grantedAt - full.grantedAt)).toBeLessThanOrEqual(2);
  });

  test("what a waiter asks is kept with its claim, and a claim of before anybody could ask is read", () => {
    const store = open();
    const asking = waiting(1, { ask: { message: "may I?", since: 5000 } });
    store.commit("default", claims(asking));
    expect(onlyClaim(store).ask).toEqual({ message: "may I?", since: expect.closeTo(5000, -1) });
    store.commit("default", claims(waiting(1, { ask: { since: 5000 } })));
    expect(onlyClaim(store).ask).toEqual({ since: expect.closeTo(5000, -1) });
    store.commit("default", claims(waiting(1)));
    store.close();
    raw((connection) => {
      const [row] = connection.prepare("SELECT record FROM claim").all() as { record: string }[];
      expect(JSON.parse(row?.record ?? "")).not.toHaveProperty("ask");
    });
    expect(onlyClaim(open()).ask).toBeUndefined();
  });

  test("a claim without optional fields comes back without them", () => {
    const bare: ClaimRecord = {
      ...waiting(1, { ttlMs: undefined, session: "s", deadline: Number.POSITIVE_INFINITY }),
      asked: { kind: "acquire", from: "s", request: "1", session: true, key: "k", mode: "exclusive", newToken: "t" },
    };
    const store = open();
    store.commit("default", claims(bare));

    expect(onlyClaim(store)).toStrictEqual(bare);
  });

  test.each([
    ["empty", ""],
    ["NUL", "a\u0000b"],
    ["a lone high surrogate", "\ud800"],
    ["another lone high surrogate", "\ud801"],
    ["a lone low surrogate", "\udc00x"],
    ["the replacement character", "\ufffd"],
    ["a quote and a backslash", "\"\\'"],
    ["not normalised", "e\u0301"],
    ["255 bytes", "k".repeat(255)],
  ])("the key is kept as it is: %s", (_name, key) => {
    const store = open();
    store.commit("default", claims(holding(1, { asked: acquire({ key }) })));

    expect(onlyClaim(store).asked.key).toBe(key);
  });

  test("every field of a session comes back", () => {
    const connected = session("s1", { meta: '{"tab":1}', user: "ada" });
    const suspended = session("s2", { deadline: clock.nowMs + 60_000 });
    const store = open();
    store.commit("default", batch({ kind: "session", session: connected }, { kind: "session", session: suspended }));

    const found = store.load("default").image.sessions.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    expect(found[0]).toStrictEqual(connected);
    expect({ ...found[1], deadline: suspended.deadline }).toStrictEqual(suspended);
    expect(Math.abs((found[1]?.deadline ?? 0) - suspended.deadline)).toBeLessThanOrEqual(2);
  });

  test("the last change of a claim is the one that counts", () => {
    const store = open();
    store.commit("default", claims(holding(1)));
    store.commit("default", claims(holding(1, { depth: 2 }), holding(1, { depth: 3 })));
    store.commit("default", claims(holding(1, { depth: 3 })));

    expect(onlyClaim(store).depth).toBe(3);
  });

  test("what was forgotten is not found again", () => {
    const store = open();
    store.commit("default", claims(holding(1), gone(2)));
    store.commit("default", batch({ kind: "session", session: session("s") }));
    store.commit(
      "default",
      batch(
        { kind: "claim_forgotten", ticket: 1 },
        { kind: "claim", claim: gone(2) },
        { kind: "claim_forgotten", ticket: 2 },
      ),
    );
    store.commit("default", batch({ kind: "session_gone", session: "s" }));
    store.commit(
      "default",
      batch({ kind: "session_gone", session: "unknown" }, { kind: "claim_forgotten", ticket: 9 }),
    );

    expect(store.load("default").image).toEqual({ claims: [], sessions: [], records: [], waiters: [] });
  });

  test("only the counted changes of a batch are taken", () => {
    const store = open();
    store.commit("default", { ...claims(holding(1), holding(2)), changeCount: 1 });
    store.commit("default", { ...claims(holding(3)), changeCount: 0 });

    expect(store.load("default").image.claims.map(({ ticket }) => ticket)).toEqual([1]);
  });

  test("spaces do not see each other", () => {
    const store = open();
    store.commit("x", claims(holding(1)));
    store.commit("y", batch({ kind: "claim_forgotten", ticket: 1 }, { kind: "session", session: session("s") }));

    expect(store.load("x").image).toMatchObject({ claims: [{ ticket: 1 }], sessions: [] });
    expect(store.load("y").image).toMatchObject({ claims: [], sessions: [{ id: "s" }] });
  });

  test("a batch that fails leaves nothing behind, and the store goes on", () => {
    const store = open();
    store.commit("default", claims(holding(1)));
    const broken = { ...claims(holding(1, { depth: 2 }), holding(2)), serialReserved: 2 ** 52 } satisfies Batch;
    Object.defineProperty(broken.changes[1], "claim", {
      get: () => {
        throw new Error("injected");
      },
    });

    const { serial } = store.load("default");
    expect(() => store.commit("default", broken)).toThrow("injected");
    expect(onlyClaim(store).depth).toBe(1);
    expect(store.load("default").serial).toBe(serial);
    store.commit("default", claims(holding(3), holding(4)));
    expect(store.load("default").image.claims.map(({ ticket }) => ticket)).toEqual([1, 3, 4]);
  });

  test("a disk that is full fails the whole batch, and the store goes on when there is room", () => {
    const { store, connection } = openedBy({ clock });
    store.commit("default", claims(holding(1)));
    const { page_count: pages } = connection.prepare("PRAGMA page_count").all()[0]!;
    connection.prepare(`PRAGMA max_page_count = ${Number(pages) + 1}`).all();
    const large = Array.from({ length: 50 }, (_, i) => holding(i + 2, { asked: acquire({ key: "k".repeat(255) }) }));

    expect(() => store.commit("default", claims(holding(1, { depth: 2 }), ...large))).toThrow("full");
    expect(onlyClaim(store).depth).toBe(1);
    connection.prepare("PRAGMA max_page_count = 1000").all();
    store.commit("default", claims(holding(1, { depth: 2 }), ...large));
    expect(store.load("default").image.claims).toHaveLength(51);
  });

  test("a commit to a closed store throws", () => {
    const store = open();
    store.close();

    expect(() => store.commit("default", claims(holding(1)))).toThrow(/closed|not open|finalized/);
  });

  test("what was committed is found after a restart", () => {
    const store = open();
    store.commit("default", claims(holding(1), gone(2)));

    expect(
      afterRestart(store)
        .load("default")
        .image.claims.map(({ state }) => state),
    ).toEqual(["holding", "gone"]);
  });

  test("a deadline is the same instant of wall time after a restart, and never earlier", () => {
    clock.nowMs = 1000.7;
    const store = open();
    store.commit("default", claims(holding(1, { deadline: 31_000.3 })));
    const leftMs = 31_000.3 - clock.nowMs;
    const next = afterRestart(store, 4000);

    const leftNowMs = onlyClaim(next).deadline - clock.nowMs;
    expect(leftNowMs).toBeGreaterThan(leftMs - 4000);
    expect(leftNowMs).toBeLessThanOrEqual(leftMs - 4000 + 2);
  });

  test("what ended while the server was down comes back with a deadline in the past", () => {
    const store = open();
    store.commit("default", claims(holding(1)));
    const next = afterRestart(store, TTL_MS + 10);

    expect(onlyClaim(next).deadline).toBeLessThan(clock.nowMs);
  });

  test("a wall clock that was set back lets nothing last longer than it was given", () => {
    const store = open();
    const dayMs = 24 * 60 * 60 * 1000;
    store.commit(
      "default",
      claims(holding(1), waiting(2), gone(3), holding(4, { ttlMs: undefined, deadline: Infinity })),
    );
    store.commit("default", batch({ kind: "session", session: session("s", { deadline: 61_000 }) }));
    const { image } = afterRestart(store, -dayMs).load("default");

    expect(image.claims.map(({ deadline }) => deadline - clock.nowMs)).toEqual([TTL_MS, 10_000, 61_000, Infinity]);
    expect(image.sessions.map(({ deadline }) => deadline - clock.nowMs)).toEqual([60_000]);
  });

  test("serial and epoch never go back, not even with the wall clock", () => {
    let store = open();
    const { serial } = store.load("default");
    const reserved = serial + 10_000_000;
    store.commit("default", { ...claims(holding(1)), serialReserved: reserved });
    store.commit("default", { changes: [], changeCount: 0, serialReserved: serial });
    expect(store.load("default").serial).toBe(reserved);

    const { epoch } = store;
    store = afterRestart(store, -1_000_000);
    expect(store.epoch).toBe(epoch + 1);
    expect(store.load("default").serial).toBe(reserved);
  });

  test("fences rise even when the file was lost", () => {
    const store = open();
    const before = store.load("default").serial;
    store.close();
    path += ".new";
    clock.wallMs += 1000;
    const next = open();

    expect(next.load("default").serial).toBe(before + 1_000_000);
    expect(next.epoch).toBeGreaterThan(store.epoch);
  });

  test("a second server on the same file is refused, and can start when the first has ended", () => {
    const store = open();

    expect(() => open()).toThrow(expect.objectContaining({ code: "in_use" }));
    expect(() => open()).toThrow(`${path} is in use by another server`);
    store.commit("default", claims(holding(1)));
    store.close();
    expect(onlyClaim(open()).ticket).toBe(1);
  });

  test.each([
    ["text that is no JSON", "{"],
    ["JSON that is no record", "null"],
    ["a record without its fields", "{}"],
    ["a state that does not exist", JSON.stringify({ ...holding(1), state: "lost" })],
    ["a deadline of a wrong type", JSON.stringify({ ...holding(1), deadline: "1" })],
    ["an ask of a wrong type", JSON.stringify({ ...waiting(1), ask: "may I?" })],
    ["an ask without its time", JSON.stringify({ ...waiting(1), ask: { message: "may I?" } })],
  ])("a space with a damaged claim is not served: %s", (_name, record) => {
    const store = open();
    store.commit("default", claims(holding(1)));
    store.commit("other", claims(holding(1)));
    store.close();
    raw((connection) => connection.prepare("UPDATE claim SET record = ? WHERE space = 'default'").run(record));
    const next = open();

    expect(() => next.load("default")).toThrow("the store is damaged: claim 1 of space default cannot be read");
    expect(next.load("other").image.claims).toHaveLength(1);
  });

  test("a space with a damaged session is not served", () => {
    const store = open();
    store.commit("default", batch({ kind: "session", session: session("s") }));
    store.close();
    raw((connection) => connection.prepare("UPDATE session SET record = '{}'").run());

    expect(() => open().load("default")).toThrow("the store is damaged: session s of space default cannot be read");
  });

  test("a file of a newer schema is refused and left alone", () => {
    open().close();
    raw((connection) => connection.prepare("PRAGMA user_version = 3").run());

    expect(() => open()).toThrow(expect.objectContaining({ code: "foreign" }));
    expect(() => open()).toThrow("schema version 3");
    raw((connection) => expect(connection.prepare("PRAGMA user_version").all()[0]).toEqual({ user_version: 3 }));
  });

  test("a file from before there were records gets what it lacks, and keeps what it has", () => {
    const store = open();
    store.commit("default", claims(holding(1)));
    store.close();
    raw((connection) => {
      for (const table of ["record", "waiter"]) connection.prepare(`DROP TABLE ${table}`).run();
      connection.prepare("PRAGMA user_version = 1").run();
    });

    expect(open().load("default").image).toMatchObject({ claims: [{ ticket: 1 }], records: [] });
  });

  test("somebody else's database is refused and left alone", () => {
    raw((connection) => connection.prepare("CREATE TABLE claim (a TEXT)").run());

    expect(() => open()).toThrow(`${path} is not a Latchkey database`);
  });

  test("a file that a server was killed over while making it is taken", () => {
    raw((connection) => connection.prepare("PRAGMA journal_mode = WAL").all());

    expect(open().load("default").image.claims).toEqual([]);
  });

  test("a file that cannot be opened is one clear line", () => {
    path = join(path, "missing", "latchkey.db");

    expect(() => open()).toThrow(expect.objectContaining({ code: "unavailable" }));
    expect(() => open()).toThrow(/^\S+ cannot be opened: [^\n]*$/);
  });

  test("the files can be read by their owner alone", () => {
    const store = open();
    store.commit("default", claims(holding(1)));

    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(`${path}-wal`).mode & 0o777).toBe(0o600);
  });

  test.each([
    ["normal", 1],
    ["full", 2],
  ] as const)("sync %s is what SQLite is told", (sync, level) => {
    const { connection } = openedBy({ clock, sync });

    expect(connection.prepare("PRAGMA synchronous").all()[0]).toEqual({ synchronous: level });
  });
});
