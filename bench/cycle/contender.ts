/** One subject or floor of a scenario, with what its turns took of its server and of its load generator. */

import type { Floor, Subject } from "../harness/subjects.ts";
import type { Loaders } from "../harness/loaders.ts";
import type { Scenario } from "../scenarios.ts";
import { pidsOf, type Usage, usageOf } from "../servers/proc.ts";
import type { BenchServer } from "../servers/server.ts";
import { bytesAt, type Calls, callsDuring } from "./calls.ts";

const TURN_MS = 200;
const TICK_MS = 10;

export interface Side {
  readonly cpuUs: number;
  /** The part of it that is spent in the kernel, 0 to 1; undefined where many processes each took too little to tell. */
  readonly kernelShare: number | undefined;
  readonly calls: Calls | undefined;
}

/** Of one cycle. */
export interface Cost {
  readonly name: string;
  readonly wallUs: number;
  readonly server: Side;
  readonly clients: Side;
  readonly bytes: number | undefined;
}

interface Turn {
  readonly cycles: number;
  readonly wallUs: number;
  readonly server: Usage;
  readonly clients: Usage;
}

const NOTHING: Usage = { cpuMs: 0, userTicks: 0, systemTicks: 0, residentBytes: 0 };

export class Contender {
  readonly who: Subject | Floor;
  readonly loaders: Loaders;
  readonly #server: BenchServer;
  readonly #pids: { readonly server: number; readonly clients: number };
  readonly #turns: Turn[] = [];

  private constructor(who: Subject | Floor, server: BenchServer, loaders: Loaders) {
    this.who = who;
    this.loaders = loaders;
    this.#server = server;
    this.#pids = { server: server.pid ?? 0, clients: loaders.pids[0] ?? 0 };
  }

  /** With a turn that does not count. */
  static async prepare(
    scenario: Scenario,
    who: Subject | Floor,
    server: BenchServer,
    loaders: Loaders,
  ): Promise<Contender> {
    const row = `${scenario.name}-${who.name}`.replaceAll(/\W/g, "-");
    const count = scenario.keys === "own" ? scenario.clients : 1;
    const keys = Array.from({ length: count }, (_, index) => `${row}:${index}`);
    const target = { url: server.url, row, keys };
    await loaders.prepare({ driver: who.driver, target, scenario, serverPid: server.pid });
    await loaders.slice(TURN_MS, true);
    return new Contender(who, server, loaders);
  }

  async turn(): Promise<void> {
    const before = this.#usages();
    const { cycles, windowMs } = await this.loaders.slice(TURN_MS, true);
    const after = this.#usages();
    this.#turns.push({
      cycles,
      wallUs: (windowMs * 1000) / cycles,
      server: less(after.server, before.server),
      clients: less(after.clients, before.clients),
    });
  }

  async cost(): Promise<Cost> {
    const { port } = new URL(this.#server.url);
    const bytesBefore = bytesAt(port) ?? Number.NaN;
    const { cycles } = await this.loaders.slice(TURN_MS, true);
    const bytes = ((bytesAt(port) ?? Number.NaN) - bytesBefore) / cycles;
    const wallUs = least(this.#turns.map((turn) => turn.wallUs));
    return {
      name: this.who.name,
      wallUs,
      server: await this.#side("server"),
      clients: await this.#side("clients"),
      bytes,
    };
  }

  async #side(side: "server" | "clients"): Promise<Side> {
    const turns = this.#turns;
    const sum = (of: keyof Usage): number => turns.reduce((total, turn) => total + turn[side][of], 0);
    const ticks = sum("userTicks") + sum("systemTicks");
    let cycles = 0;
    const calls = await callsDuring(pidsOf(this.#pids[side]), async () => {
      cycles = (await this.loaders.slice(TURN_MS, true)).cycles;
    });
    return {
      cpuUs: least(turns.map((turn) => (turn[side].cpuMs * 1000) / turn.cycles)),
      kernelShare: ticks * TICK_MS < sum("cpuMs") / 2 ? undefined : sum("systemTicks") / ticks,
      calls: calls && {
        all: calls.all / cycles,
        pageFaults: calls.pageFaults / cycles,
        named: new Map([...calls.named].map(([name, count]) => [name, count / cycles])),
      },
    };
  }

  #usages(): { readonly server: Usage; readonly clients: Usage } {
    const { server, clients } = this.#pids;
    return { server: usageOf(server) ?? NOTHING, clients: usageOf(clients) ?? NOTHING };
  }
}

/** Of the turn that others disturbed least. */
function least(values: readonly number[]): number {
  return Math.min(...values.filter(Number.isFinite));
}

function less(after: Usage, before: Usage): Usage {
  return {
    cpuMs: after.cpuMs - before.cpuMs,
    userTicks: after.userTicks - before.userTicks,
    systemTicks: after.systemTicks - before.systemTicks,
    residentBytes: after.residentBytes,
  };
}
