/**
 * What a lock over HTTP costs beside a bare handler of the same runtime that reads and writes the same bytes, and a hand-off by
 * long-poll beside one by WebSocket. Run: npm run bench:http. Turns of a quarter of a second go round, and each ratio is one of
 * neighbours, so they hold on a busy machine. `-- bun` measures one runtime alone.
 */

import process from "node:process";
import { BenchSocket } from "./drivers/socket.ts";
import { median, quantile } from "./figures.ts";
import { Caller } from "./http-caller.ts";
import { type RuntimeName, RUNTIMES, start } from "./servers/kinds.ts";
import { usageOf } from "./servers/proc.ts";

const ROUNDS = 15;
/** For the compilers of server and caller: it takes them ten thousands of calls to be done with a server's code. */
const WARM_ROUNDS = 8;
const TURN_MS = 250;
const ACQUIRE_RATIO_MAX = 1.2;
const HAND_OFF_RATIO_MAX = 1.5;
const ACQUIRE_BODY = '{"ttl":10000,"timeout":10000}';

/** One turn: how long each call took, and what the server's processor had to do for it. */
interface Turn {
  readonly acquireMs: number;
  readonly releaseMs: number;
  readonly serverUs: number;
}

interface Subject {
  readonly name: string;
  readonly turns: Turn[];
  readonly turn: () => Promise<Turn>;
}

/** Acquires and releases one key after the other, for one turn. */
async function pairs(caller: Caller, base: string, pid: number | undefined): Promise<Turn> {
  const acquires: number[] = [];
  const releases: number[] = [];
  const cpuMs = cpuOf(pid);
  const end = performance.now() + TURN_MS;
  for (let begun = performance.now(); begun < end;) {
    const acquired = await caller.post(`${base}/orders%2F42/acquire`, ACQUIRE_BODY);
    const between = performance.now();
    const { token } = JSON.parse(acquired.body) as { token: string };
    const released = await caller.post(`${base}/orders%2F42/release`, `{"token":"${token}"}`);
    const now = performance.now();
    if (acquired.status !== 200 || released.status !== 200) throw new Error(`not served: ${acquired.body}`);
    acquires.push(between - begun);
    releases.push(now - between);
    begun = now;
  }
  const serverUs = ((cpuOf(pid) - cpuMs) * 1000) / (2 * acquires.length);
  return { acquireMs: quantile(acquires, 0.5), releaseMs: quantile(releases, 0.5), serverUs };
}

function cpuOf(pid: number | undefined): number {
  return pid === undefined ? Number.NaN : (usageOf(pid)?.cpuMs ?? Number.NaN);
}

async function measureCalls(runtime: RuntimeName): Promise<boolean> {
  const floor = await start(`http-${runtime}`);
  const sqlite = await start(`latchkey-${runtime}`);
  const memory = await start(`latchkey-${runtime}`, { LOCK_ADAPTER: "memory" });
  const callers: Caller[] = [];
  const subject = async (name: string, server: typeof floor, base: string): Promise<Subject> => {
    const caller = await Caller.open(server.url);
    callers.push(caller);
    return { name, turns: [], turn: () => pairs(caller, base, server.pid) };
  };
  try {
    const bare = await subject("bare handler", floor, "/bare/latch");
    const hono = await subject("bare handler, hono", floor, "/hono/latch");
    const subjects = [
      bare,
      hono,
      await subject("Latchkey, memory", memory, "/v1/latch"),
      await subject("Latchkey, SQLite", sqlite, "/v1/latch"),
    ];
    for (let round = -WARM_ROUNDS; round < ROUNDS; round++) {
      for (const { turn, turns } of subjects) {
        const took = await turn();
        if (round >= 0) turns.push(took);
      }
    }
    console.log(
      `  one call, p50 of ${ROUNDS} turns       acquire   release  server/call   acquire ÷ bare       ÷ hono`,
    );
    return subjects.map((one) => tellCalls(one, bare, hono)).at(-1) === true;
  } finally {
    for (const caller of callers) caller.close();
    await Promise.all([floor, sqlite, memory].map((server) => server.stop()));
  }
}

/** Whether it is within the target. */
function tellCalls({ name, turns }: Subject, bare: Subject, hono: Subject): boolean {
  const middle = (of: (turn: Turn) => number): string => median(turns.map(of)).toFixed(of === serverOf ? 0 : 3);
  const serverOf = (turn: Turn): number => turn.serverUs;
  const over = (other: Subject): number[] =>
    turns.map((turn, i) => turn.acquireMs / (other.turns[i]?.acquireMs ?? Number.NaN));
  const ratio = median(over(bare));
  console.log(
    `    ${name.padEnd(24)} ${middle((turn) => turn.acquireMs)} ms  ${middle((turn) => turn.releaseMs)} ms  ${middle(serverOf).padStart(6)} µs` +
      `   ${describe(over(bare))}   ${describe(over(hono))}`,
  );
  return ratio <= ACQUIRE_RATIO_MAX;
}

function describe(ratios: readonly number[]): string {
  return `${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)})`;
}

// — hand-off —

/** Somebody who waits for the key while another lets it go. */
interface Party {
  /** Resolves once it is known to wait; the grant comes later. */
  wait(): Promise<{ readonly granted: Promise<string> }>;
  release(token: string): Promise<unknown>;
}

class HttpParty implements Party {
  readonly #caller: Caller;
  readonly #watcher: Caller;

  constructor(caller: Caller, watcher: Caller) {
    this.#caller = caller;
    this.#watcher = watcher;
  }

  async wait(): Promise<{ readonly granted: Promise<string> }> {
    const granted = this.#caller
      .post("/v1/latch/poll/acquire", ACQUIRE_BODY)
      .then(({ body }) => (JSON.parse(body) as { token: string }).token);
    for (;;) {
      const { body } = await this.#watcher.get("/v1/latch/poll");
      const { status, waiting } = JSON.parse(body) as { status: string; waiting: number };
      if (waiting > 0 || status === "held") return { granted };
    }
  }

  release(token: string): Promise<unknown> {
    return this.#caller.post("/v1/latch/poll/release", `{"token":"${token}"}`);
  }
}

class SocketParty implements Party {
  readonly #socket: BenchSocket;
  #heard: ReadonlyMap<string, (token: string) => void> = new Map<string, (token: string) => void>();
  #lastId = 0;

  private constructor(socket: BenchSocket) {
    this.#socket = socket;
    socket.onText = (text) => {
      if (text === "ping") socket.send("pong");
      if (!text.startsWith("{")) return;
      const { t, token = "" } = JSON.parse(text) as { t: string; token?: string };
      this.#heard.get(t)?.(token);
    };
  }

  static async open(url: string): Promise<SocketParty> {
    const broken = (error: Error): never => {
      throw error;
    };
    const socket = await BenchSocket.open(`${url.replace(/^http/, "ws")}/v1/session`, broken, ["latchkey.v1"]);
    const party = new SocketParty(socket);
    await party.#ask({ t: "hello", v: 1 }, "welcome");
    return party;
  }

  close(): Promise<void> {
    return this.#socket.close();
  }

  wait(): Promise<{ readonly granted: Promise<string> }> {
    return new Promise((resolve) => {
      const granted = new Promise<string>((grant) => {
        this.#heard = new Map<string, (token: string) => void>([
          ["queued", () => resolve({ granted })],
          [
            "granted",
            (token) => {
              grant(token);
              resolve({ granted });
            },
          ],
        ]);
      });
      this.#socket.send(JSON.stringify({ t: "acquire", id: `a${++this.#lastId}`, key: "push" }));
    });
  }

  release(token: string): Promise<unknown> {
    return this.#ask({ t: "release", id: `r${++this.#lastId}`, key: "push", token }, "released");
  }

  #ask(frame: object, answer: string): Promise<unknown> {
    return new Promise((resolve) => {
      this.#heard = new Map([[answer, resolve]]);
      this.#socket.send(JSON.stringify(frame));
    });
  }
}

/** Two take turns: one holds, the other waits, and the time from the release to the grant counts. */
class Pair {
  readonly turns: number[] = [];
  readonly #parties: readonly [Party, Party];
  #holder = 0;
  #token: string | undefined;

  constructor(parties: readonly [Party, Party]) {
    this.#parties = parties;
  }

  async turn(): Promise<number> {
    this.#token ??= await (await this.#parties[0].wait()).granted;
    const took: number[] = [];
    for (const end = performance.now() + TURN_MS; performance.now() < end;) {
      const holder = this.#parties[this.#holder] as Party;
      const next = this.#parties[1 - this.#holder] as Party;
      const { granted } = await next.wait();
      const begun = performance.now();
      const released = holder.release(this.#token);
      this.#token = await granted;
      took.push(performance.now() - begun);
      await released;
      this.#holder = 1 - this.#holder;
    }
    return quantile(took, 0.5);
  }
}

async function measureHandOff(runtime: RuntimeName): Promise<boolean> {
  const server = await start(`latchkey-${runtime}`);
  const callers = await Promise.all([1, 2, 3].map(() => Caller.open(server.url)));
  const [one, two, watcher] = callers as [Caller, Caller, Caller];
  const sockets = await Promise.all([1, 2].map(() => SocketParty.open(server.url)));
  try {
    const poll = new Pair([new HttpParty(one, watcher), new HttpParty(two, watcher)]);
    const push = new Pair(sockets as [SocketParty, SocketParty]);
    for (let round = -WARM_ROUNDS; round < ROUNDS; round++) {
      for (const pair of [poll, push]) {
        const took = await pair.turn();
        if (round >= 0) pair.turns.push(took);
      }
    }
    const ratios = poll.turns.map((took, i) => took / (push.turns[i] ?? Number.NaN));
    console.log(
      `  hand-off, p50: long-poll ${median(poll.turns).toFixed(3)} ms, WebSocket ${median(push.turns).toFixed(3)} ms, ÷ ${describe(ratios)}`,
    );
    return median(ratios) <= HAND_OFF_RATIO_MAX;
  } finally {
    for (const caller of callers) caller.close();
    await Promise.all(sockets.map((socket) => socket.close()));
    await server.stop();
  }
}

async function main(wanted: readonly string[]): Promise<void> {
  for (const runtime of RUNTIMES) {
    if (wanted.length > 0 && !wanted.includes(runtime)) continue;
    console.log(`\n${runtime}`);
    const isNear = await measureCalls(runtime);
    const isQuick = await measureHandOff(runtime);
    const yes = (is: boolean): string => (is ? "yes" : "NO");
    console.log(
      `    acquire ÷ bare at most ${ACQUIRE_RATIO_MAX}: ${yes(isNear)}; hand-off at most ${HAND_OFF_RATIO_MAX}: ${yes(isQuick)}`,
    );
    if (!isNear || !isQuick) process.exitCode = 1;
  }
}

await main(process.argv.slice(2));
