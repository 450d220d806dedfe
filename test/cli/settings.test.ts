import { describe, expect, test } from "vitest";
import { type Environment, parseSettings, type Settings } from "../../src/cli/settings.ts";

const KEY = "correct-horse";

function settings(environment: Environment): Settings {
  const parsed = parseSettings(environment);
  return parsed.ok ? parsed.settings : expect.fail(parsed.errors.join("\n"));
}

function errors(environment: Environment): readonly string[] {
  const parsed = parseSettings(environment);
  return parsed.ok ? expect.fail("no error") : parsed.errors;
}

function error(environment: Environment): string {
  const found = errors(environment);
  expect(found).toHaveLength(1);
  expect(found[0]).toMatch(/^[A-Z_]+: [^\n]+$/);
  return found[0]!;
}

test("an empty environment gives the defaults", () => {
  const defaults: Settings = {
    hostname: "127.0.0.1",
    port: 8787,
    db: "latchkey.db",
    sync: "normal",
    prefix: "",
    keys: [],
    origins: [],
    idempotencyDb: "latchkey.db",
    recordTtlMs: 86_400_000,
    ttlDefaultMs: 30_000,
    heartbeatMs: 5_000,
    deadlineMs: 15_000,
    graceMaxMs: 60_000,
    quarantineMs: 0,
    demo: true,
  };

  expect(settings({})).toEqual(defaults);
});

test("a variable that is set to nothing counts as not set", () => {
  const names = ["HOST", "PORT", "LATCHKEY_KEYS", "LATCHKEY_DB", "LATCHKEY_ORIGINS", "LATCHKEY_HEARTBEAT"];
  names.push("LATCHKEY_DEADLINE", "LATCHKEY_GRACE_MAX", "LATCHKEY_QUARANTINE", "LATCHKEY_SYNC", "LOCK_ADAPTER");
  names.push("LOCK_TTL", "LOCK_PREFIX", "NO_COLOR", "LATCHKEY_DEMO", "IDEMPOTENCY_ADAPTER", "IDEMPOTENCY_TTL");

  expect(settings(Object.fromEntries(names.map((name) => [name, ""])))).toEqual(settings({}));
});

test("the environment of an earlier system works as it is", () => {
  const { db, ttlDefaultMs, prefix } = settings({ LOCK_ADAPTER: "memory", LOCK_TTL: "30s", LOCK_PREFIX: "app:" });

  expect({ db, ttlDefaultMs, prefix }).toEqual({ db: undefined, ttlDefaultMs: 30_000, prefix: "app:" });
});

test("the demo is shown unless there are keys, or it was said", () => {
  expect(settings({ LATCHKEY_DEMO: "off" }).demo).toBe(false);
  expect(settings({ LATCHKEY_KEYS: KEY }).demo).toBe(false);
  expect(settings({ LATCHKEY_KEYS: KEY, LATCHKEY_DEMO: "on" }).demo).toBe(true);
  expect(error({ LATCHKEY_DEMO: "yes" })).toBe("LATCHKEY_DEMO: must be on or off");
});

test("records are kept where locks are, unless something else is chosen", () => {
  expect(settings({ LOCK_ADAPTER: "memory" }).idempotencyDb).toBe(null);
  expect(settings({ IDEMPOTENCY_ADAPTER: "memory" })).toMatchObject({ db: "latchkey.db", idempotencyDb: null });
  const apart = settings({ LOCK_ADAPTER: "memory", IDEMPOTENCY_ADAPTER: "sqlite", LATCHKEY_DB: "r.db" });
  expect(apart).toMatchObject({ db: undefined, idempotencyDb: "r.db" });
  expect(error({ IDEMPOTENCY_ADAPTER: "file" })).toBe("IDEMPOTENCY_ADAPTER: must be memory or sqlite or redis");
});

test("the life of a record: 0 is a day, and nothing is negative", () => {
  expect(settings({ IDEMPOTENCY_TTL: "0" }).recordTtlMs).toBe(86_400_000);
  expect(settings({ IDEMPOTENCY_TTL: "0s" }).recordTtlMs).toBe(86_400_000);
  expect(error({ IDEMPOTENCY_TTL: "-1s" })).toContain("IDEMPOTENCY_TTL: must be a duration from 1s to 720h");
});

describe("durations", () => {
  test.each([
    ["LOCK_TTL", "ttlDefaultMs", ["100ms", 100], ["24h", 86_400_000], ["99ms", "86400001ms"]],
    ["IDEMPOTENCY_TTL", "recordTtlMs", ["1s", 1000], ["720h", 2_592_000_000], ["999ms", "2592000001ms", "-1"]],
    ["LATCHKEY_HEARTBEAT", "heartbeatMs", ["100ms", 100], ["10m", 600_000], ["99ms", "600001"]],
    ["LATCHKEY_DEADLINE", "deadlineMs", ["5001", 5001], ["1h", 3_600_000], ["99ms", "3600001ms"]],
    ["LATCHKEY_GRACE_MAX", "graceMaxMs", ["0", 0], ["24h", 86_400_000], ["-1", "86400001"]],
    ["LATCHKEY_QUARANTINE", "quarantineMs", ["0s", 0], ["1440m", 86_400_000], ["-1s", "25h"]],
  ] as const)("%s at its limits, and one past them", (name, field, min, max, past) => {
    const rest = name === "LATCHKEY_HEARTBEAT" ? { LATCHKEY_DEADLINE: "1h" } : {};
    for (const [text, ms] of [min, max]) expect(settings({ ...rest, [name]: text })[field]).toBe(ms);
    for (const text of past) expect(error({ ...rest, [name]: text })).toContain(`${name}: must be a duration from `);
  });

  test.each([
    ["50ms", 50],
    ["30s", 30_000],
    ["5m", 300_000],
    ["2h", 7_200_000],
    ["1234", 1234],
  ])("%s", (text, ms) => {
    expect(settings({ LATCHKEY_QUARANTINE: text }).quarantineMs).toBe(ms);
  });

  test.each(["1.5s", "30 s", "30S", "30sec", "1d", "s", "1e3", "+5s", "0x10", "9999999999999h", "٣s", "5s\n"])(
    "%j is none",
    (text) => {
      expect(error({ LATCHKEY_QUARANTINE: text })).toBe(
        "LATCHKEY_QUARANTINE: must be a duration from 0ms to 24h, such as 500ms, 30s or 5m; a bare number counts ms",
      );
    },
  );

  test("the deadline is longer than the heartbeat", () => {
    expect(settings({ LATCHKEY_HEARTBEAT: "15s", LATCHKEY_DEADLINE: "15001ms" }).deadlineMs).toBe(15_001);
    expect(error({ LATCHKEY_HEARTBEAT: "15s" })).toContain(
      "LATCHKEY_DEADLINE: must be longer than LATCHKEY_HEARTBEAT, which is 15s",
    );
  });
});

test("a port is 0 to 65535", () => {
  expect(settings({ PORT: "0" }).port).toBe(0);
  expect(settings({ PORT: "65535" }).port).toBe(65_535);
  for (const PORT of ["65536", "-1", "1.5", "http", "0x10", "8787 "]) {
    expect(error({ PORT })).toBe("PORT: must be a whole number from 0 to 65535, where 0 takes a free port");
  }
});

describe("host", () => {
  test.each(["127.0.0.1", "127.0.0.0", "127.255.255.255", "::1", "[::1]", "localhost"])(
    "%s may be open to everybody: nobody else reaches it",
    (HOST) => {
      expect(settings({ HOST }).hostname).toBe(HOST);
    },
  );

  test.each([
    "126.255.255.255",
    "128.0.0.0",
    "0.0.0.0",
    "::",
    "127.0.0.256",
    "127.0.0.1.example.com",
    "localhost.evil",
  ])("%s needs keys", (HOST) => {
    expect(error({ HOST })).toMatch(/^HOST: without LATCHKEY_KEYS only this machine may reach the server/);
    expect(settings({ HOST, LATCHKEY_KEYS: KEY }).hostname).toBe(HOST);
  });

  test("is no URL and no list", () => {
    for (const HOST of ["http://localhost", "a b", "a,b", "localhost/", "x".repeat(254)]) {
      expect(error({ HOST, LATCHKEY_KEYS: KEY })).toBe("HOST: must be an address or a host name, without a port");
    }
    expect(settings({ HOST: "x".repeat(253), LATCHKEY_KEYS: KEY }).hostname).toHaveLength(253);
  });
});

describe("keys", () => {
  test("a key is a secret and what may follow it", () => {
    const LATCHKEY_KEYS = `${KEY}, second-secret;space=team-a;can=steal+operate;name=ci ,third-secret;can=operate;user=ada@example.org`;

    expect(settings({ LATCHKEY_KEYS }).keys).toEqual([
      { secret: KEY, name: "key1", permissions: [] },
      { secret: "second-secret", space: "team-a", permissions: ["steal", "operate"], name: "ci" },
      { secret: "third-secret", name: "key3", permissions: ["operate"], user: "ada@example.org" },
    ]);
  });

  test("a secret has 8 to 256 characters", () => {
    for (const length of [8, 256]) expect(settings({ LATCHKEY_KEYS: "s".repeat(length) }).keys).toHaveLength(1);
    for (const length of [7, 257]) {
      expect(error({ LATCHKEY_KEYS: "s".repeat(length) })).toMatch(/^LATCHKEY_KEYS: key 1 must begin with a secret/);
    }
  });

  test("a space and a name have at most 64 characters", () => {
    const longest = "n".repeat(64);
    expect(settings({ LATCHKEY_KEYS: `${KEY};space=${longest};name=${longest}` }).keys).toHaveLength(1);
    for (const option of ["space", "name"]) {
      expect(error({ LATCHKEY_KEYS: `${KEY};${option}=${longest}n` })).toContain(
        "LATCHKEY_KEYS: key 1 may be followed by",
      );
    }
  });

  test("a user has 1 to 255 bytes", () => {
    expect(settings({ LATCHKEY_KEYS: `${KEY};user=${"u".repeat(255)}` }).keys).toHaveLength(1);
    for (const user of ["", "u".repeat(256)]) {
      expect(error({ LATCHKEY_KEYS: `${KEY};user=${user}` })).toContain("LATCHKEY_KEYS: key 1 may be followed by");
    }
  });

  test("at most 1000", () => {
    const keys = Array.from({ length: 1000 }, (_, i) => `${KEY}-${i}`);
    expect(settings({ LATCHKEY_KEYS: keys.join(",") }).keys).toHaveLength(1000);
    expect(error({ LATCHKEY_KEYS: [...keys, KEY].join(",") })).toBe("LATCHKEY_KEYS: must have at most 1000 keys");
  });

  test.each([
    "",
    ";space=a",
    "has space in it",
    "schlüssel-geheim",
    `${KEY};`,
    `${KEY};space=`,
    `${KEY};space=a b`,
    `${KEY};space=a;space=b`,
    `${KEY};secret=another-secret`,
    `${KEY};can=`,
    `${KEY};can=everything`,
    `${KEY};can=steal+steal`,
    `${KEY};role=admin`,
    `${KEY};name=`,
    `${KEY};name=a b`,
    `${KEY};can`,
    KEY,
  ])("a wrong entry is told by its place, and no part of it is repeated: %j", (entry) => {
    const text = error({ LATCHKEY_KEYS: `${KEY},${entry},${KEY}-3` });

    expect(text).toMatch(/^LATCHKEY_KEYS: key 2 /);
    expect(text).not.toMatch(/horse|secret=|another|everything|admin|geheim/);
  });
});

describe("origins", () => {
  test.each(["https://app.example.com", "http://localhost:5173", "http://[::1]:3000", "chrome-extension://abcdef"])(
    "%s",
    (origin) => {
      expect(settings({ LATCHKEY_ORIGINS: `https://a.example, ${origin}` }).origins).toEqual([
        "https://a.example",
        origin,
      ]);
    },
  );

  test.each([
    "*",
    "app.example.com",
    "https://a.example/",
    "https://A.example",
    "https://a.example:443",
    "null",
    "https://*.a.example/x",
  ])("%s is none that a browser sends", (origin) => {
    expect(error({ LATCHKEY_ORIGINS: origin })).toBe(
      "LATCHKEY_ORIGINS: must be origins as browsers send them, such as https://app.example.com, separated by commas",
    );
  });
});

test("the database is a file, unless the adapter is memory", () => {
  expect(settings({ LATCHKEY_DB: "/var/lib/locks.db" }).db).toBe("/var/lib/locks.db");
  expect(settings({ LATCHKEY_DB: "/var/lib/locks.db", LOCK_ADAPTER: "memory" }).db).toBeUndefined();
  expect(settings({ LOCK_ADAPTER: "sqlite" }).db).toBe("latchkey.db");
  expect(error({ LOCK_ADAPTER: "file" })).toBe("LOCK_ADAPTER: must be memory or sqlite or redis");
});

test("sync is normal or full", () => {
  expect(settings({ LATCHKEY_SYNC: "full" }).sync).toBe("full");
  expect(error({ LATCHKEY_SYNC: "FULL" })).toBe("LATCHKEY_SYNC: must be normal or full");
});

test("a prefix has at most 64 characters", () => {
  expect(settings({ LOCK_PREFIX: "p".repeat(64) }).prefix).toHaveLength(64);
  for (const LOCK_PREFIX of ["p".repeat(65), "a b", "ü"]) {
    expect(error({ LOCK_PREFIX })).toBe("LOCK_PREFIX: must be at most 64 visible ASCII characters");
  }
});

test("whatever NO_COLOR says, it asks for none", () => {
  expect(parseSettings({ NO_COLOR: "0" })).toMatchObject({ ok: true, color: false });
  expect(parseSettings({})).toMatchObject({ ok: true, color: true });
});

test("every mistake is told, each in a line", () => {
  expect(errors({ PORT: "x", LOCK_TTL: "y", LATCHKEY_KEYS: "short" }).map((line) => line.split(":")[0])).toEqual([
    "PORT",
    "LATCHKEY_KEYS",
    "LOCK_TTL",
  ]);
});

describe("a fleet", () => {
  const TCP = { LOCK_ADAPTER: "redis", REDIS_URL: "redis://user:hunter22@db.example.com:6379" };
  const REST_URL = "https://db.example.com";
  const REST = { LOCK_ADAPTER: "redis", UPSTASH_REDIS_REST_URL: REST_URL, UPSTASH_REDIS_REST_TOKEN: "tok" };

  test("is over TCP or over REST, with times of its own, and keeps nothing in files", () => {
    const times = { leaseMs: 10_000, retryMs: 1000 };
    expect(settings(TCP)).toMatchObject({ db: undefined, idempotencyDb: null, heartbeatMs: 2000, deadlineMs: 6000 });
    expect(settings(TCP).fleet).toEqual({ redis: TCP.REDIS_URL, prefix: undefined, ...times });
    expect(settings(REST).fleet).toEqual({ redis: { url: REST_URL, token: "tok" }, prefix: undefined, ...times });
    expect(settings({ ...TCP, IDEMPOTENCY_ADAPTER: "redis" })).toEqual(settings(TCP));
    expect("fleet" in settings({})).toBe(false);
  });

  test.each(["redis://h", "rediss://u:p%40@h:6380/", "redis://:p@[::1]:6379/15", "redis://h:1?x=y"])(
    "is found by %s",
    (url) => {
      expect(settings({ ...TCP, REDIS_URL: url }).fleet?.redis).toBe(url);
    },
  );

  test("needs one place, and no more than one", () => {
    const place = "LOCK_ADAPTER: redis needs REDIS_URL, or UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN";
    expect(error({ LOCK_ADAPTER: "redis" })).toBe(place);
    expect(error({ ...REST, UPSTASH_REDIS_REST_TOKEN: "" })).toBe(place);
    expect(error({ ...REST, ...TCP })).toContain("REDIS_URL: and UPSTASH_REDIS_REST_URL may name two places");
  });

  test("keeps locks and records in one place", () => {
    const apart = "IDEMPOTENCY_ADAPTER: must be redis when LOCK_ADAPTER is, and only then";
    expect(error({ ...TCP, IDEMPOTENCY_ADAPTER: "sqlite" })).toContain(apart);
    expect(error({ IDEMPOTENCY_ADAPTER: "redis" })).toContain(apart);
  });

  test.each([
    ["REDIS_URL", "http://user:hunter22@h", "redis://user:hunter22@", "hunter22"],
    ["REDIS_URL", "redis://:hunter22@h/locks", "redis://:hunter22@h/0/1", "redis://:hunter22@h/-1"],
    ["REDIS_URL", "redis://:hunter22%@h", "redis://hunter22%zz:p@h", "redis://:hunter22@h:65536"],
    ["UPSTASH_REDIS_REST_URL", "redis://hunter22@h", "https://"],
    ["UPSTASH_REDIS_REST_TOKEN", "hunter22 hunter22", "hünter22"],
  ])("says what is wrong with %s without a word of it", (name, ...wrong) => {
    const base = name === "REDIS_URL" ? TCP : REST;
    for (const value of wrong) {
      const [line, ...others] = errors({ ...base, [name]: value });
      expect(line).toMatch(new RegExp(`^${name}: must be `));
      expect([line, ...others].join()).not.toContain("hunter22");
    }
  });

  test.each([
    ["LATCHKEY_LEASE", "leaseMs", ["8s", 8000], ["60s", 60_000], ["999ms", "60001ms"]],
    ["LOCK_RETRY_INTERVAL", "retryMs", ["50ms", 50], ["1s", 1000], ["49ms", "1001ms"]],
  ] as const)("%s at its limits, and one past them", (name, field, min, max, past) => {
    for (const [text, ms] of [min, max]) expect(settings({ ...TCP, [name]: text }).fleet?.[field]).toBe(ms);
    for (const text of past) expect(error({ ...TCP, [name]: text })).toContain(`${name}: must be a duration from`);
  });

  test("its deadline leaves room for the lease: at the limit, and one past it", () => {
    expect(settings({ ...TCP, LATCHKEY_DEADLINE: "7000ms" }).deadlineMs).toBe(7000);
    expect(error({ ...TCP, LATCHKEY_DEADLINE: "7001ms" })).toContain("LATCHKEY_DEADLINE: must be at most 7s");
  });

  test("LOCK_PREFIX is before the names in Redis and not before keys, and has no braces", () => {
    const { prefix, fleet } = settings({ ...TCP, LOCK_PREFIX: "app:" });
    expect([prefix, fleet?.prefix]).toEqual(["", "app:"]);
    for (const text of ["a{b", "a}b", "a b", "x".repeat(65)]) {
      expect(error({ ...TCP, LOCK_PREFIX: text })).toContain("LOCK_PREFIX: must be at most 64 visible ASCII");
    }
    expect(settings({ ...TCP, LOCK_PREFIX: "x".repeat(64) }).fleet?.prefix).toHaveLength(64);
  });
});
