/**
 * What a claim keeps in memory in the engine, and what a session keeps in a server beside a bare socket of the same runtime.
 * Run: npm run bench:memory. `-- bun` measures one runtime alone. Sockets by resident memory, so on Linux only.
 */

import { execFileSync } from "node:child_process";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { BenchSocket } from "./drivers/socket.ts";
import type { EngineBytes } from "./memory-engine.ts";
import { program, type RuntimeName, RUNTIMES, type ServerKind, start } from "./servers/kinds.ts";
import { inRepository } from "./servers/paths.ts";
import { usageOf } from "./servers/proc.ts";

const WAITER_BYTES_MAX = 150;
const HOLDER_BYTES_MAX = 300;
const SESSION_RATIO_MAX: Readonly<Record<RuntimeName, number>> = { bun: 1.5, deno: 1.3, node: 1.3 };

const SOCKETS = 10_000;
/**
 * Those before, each with so many frames, are for the compilers and for the room that a runtime gives to what is short-lived
 * (48 MB on Node): it grows once, with the first traffic, and belongs to no session.
 */
const WARM_SOCKETS = 1000;
const WARM_FRAMES = 300;
/** So many open at the same time. */
const OPENING = 100;
const SETTLE_MS = 2500;
/** Sockets here and in the server, and some files. */
const FILES_MIN = SOCKETS + WARM_SOCKETS + 100;

function engineBytes(runtime: RuntimeName): EngineBytes {
  const [binary = "", ...args] = program(runtime);
  const flags = { bun: [], deno: ["--v8-flags=--expose-gc"], node: ["--expose-gc"] }[runtime];
  const file = inRepository("bench/memory-engine.ts");
  const told = execFileSync(binary, [...args, ...flags, file], { cwd: inRepository("."), encoding: "utf8" });
  return JSON.parse(told) as EngineBytes;
}

function tellEngine(bytes: EngineBytes): boolean {
  const { waiter, holder, holderWithTtl, remembered } = bytes;
  const isWaiterSmall = waiter <= WAITER_BYTES_MAX;
  const isHolderSmall = holder <= HOLDER_BYTES_MAX;
  console.log(`  engine, bytes a claim, with its texts and its entries in tables`);
  console.log(`    waiter                   ${show(waiter)}   ${target(WAITER_BYTES_MAX, isWaiterSmall)}`);
  console.log(`    holder, a key of its own ${show(holder)}   ${target(HOLDER_BYTES_MAX, isHolderSmall)}`);
  console.log(`    the same with a ttl      ${show(holderWithTtl)}`);
  console.log(`    ended, remembered        ${show(remembered)}`);
  return isWaiterSmall && isHolderSmall;
}

function show(bytes: number): string {
  return bytes.toFixed(0).padStart(6);
}

function target(max: number, is: boolean): string {
  return `at most ${max}: ${is ? "yes" : "NO"}`;
}

/** Resident bytes for each socket that is open and silent. */
async function socketBytes(kind: ServerKind, path: string, hello: boolean): Promise<number> {
  const server = await start(kind);
  const open: BenchSocket[] = [];
  const broken = (error: Error): never => {
    throw error;
  };
  const connect = async (): Promise<void> => {
    const socket = await BenchSocket.open(
      `${server.url.replace(/^http/, "ws")}${path}`,
      broken,
      hello ? ["latchkey.v1"] : [],
    );
    open.push(socket);
    if (!hello) return;
    await new Promise<void>((resolve) => {
      socket.onText = (text) => {
        if (text === "ping") socket.send("pong");
        else if (text.includes('"welcome"')) resolve();
      };
      socket.send('{"t":"hello","v":1}');
    });
  };
  const connectAll = async (count: number): Promise<void> => {
    for (let left = count; left > 0; left -= OPENING) {
      await Promise.all(Array.from({ length: Math.min(OPENING, left) }, connect));
    }
    await sleep(SETTLE_MS);
  };
  const resident = (): number =>
    (server.pid === undefined ? undefined : usageOf(server.pid))?.residentBytes ?? Number.NaN;
  try {
    await connectAll(WARM_SOCKETS);
    for (const socket of open) await warm(socket);
    await sleep(SETTLE_MS);
    const before = resident();
    await connectAll(SOCKETS);
    return (resident() - before) / SOCKETS;
  } finally {
    for (const socket of open) socket.drop();
    await server.stop();
  }
}

/** A question and its answer, many times. A bare socket sends it back. */
function warm(socket: BenchSocket): Promise<void> {
  return new Promise((resolve) => {
    let heard = 0;
    socket.onText = (text) => {
      if (text === "ping") socket.send("pong");
      if (text.startsWith("{") && ++heard === WARM_FRAMES) resolve();
    };
    for (let i = 0; i < WARM_FRAMES; i++) socket.send(`{"t":"status","id":"s${i}","key":"orders/42"}`);
  });
}

async function tellSockets(runtime: RuntimeName): Promise<boolean> {
  const bare = await socketBytes(`floor-${runtime}`, "/", false);
  const session = await socketBytes(`latchkey-${runtime}`, "/v1/session", true);
  const isSmall = session / bare <= SESSION_RATIO_MAX[runtime];
  const kib = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KiB`;
  console.log(`  ${SOCKETS.toLocaleString("en")} idle connections, resident memory of each`);
  console.log(
    `    bare socket ${kib(bare)}, lock session ${kib(session)}, ÷ ${(session / bare).toFixed(2)}   ` +
      target(SESSION_RATIO_MAX[runtime], isSmall),
  );
  return isSmall;
}

async function main(wanted: readonly string[]): Promise<void> {
  const files = Number(execFileSync("sh", ["-c", "ulimit -Hn"], { encoding: "utf8" }));
  const hasFiles = !(files < FILES_MIN);
  if (!hasFiles)
    console.log(`Only ${files} files may be open here: sockets are left out. They need ulimit -n ${FILES_MIN}.`);
  for (const runtime of RUNTIMES) {
    if (wanted.length > 0 && !wanted.includes(runtime)) continue;
    console.log(`\n${runtime}`);
    const isEngineSmall = tellEngine(engineBytes(runtime));
    const isSessionSmall = !hasFiles || (await tellSockets(runtime));
    if (!isEngineSmall || !isSessionSmall) process.exitCode = 1;
  }
}

await main(process.argv.slice(2));
