/** What a process has done to two files, call by call, as the kernel was told: by `strace`, so SQLite's calls are among them. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

export type Done =
  | { readonly kind: "write"; readonly file: string; readonly at: number; readonly bytes: Buffer }
  | { readonly kind: "length"; readonly file: string; readonly length: number }
  | { readonly kind: "removed"; readonly file: string }
  | { readonly kind: "flush begun" | "flushed"; readonly file: string; readonly thread: string }
  | { readonly kind: "said"; readonly line: string; readonly thread: string };

const CALLS = "pwrite64,write,ftruncate,fsync,fdatasync,unlink,unlinkat";

/** Why none can be made; undefined: it can. */
export async function impossible(): Promise<string | undefined> {
  const child = spawn("strace", ["-f", "-o", "/dev/null", "true"], { stdio: "ignore" });
  const ended = await Promise.race([once(child, "close"), once(child, "error")]);
  return ended[0] === 0 ? undefined : "needs strace, and to be allowed to trace";
}

export async function record(command: readonly string[], output: string): Promise<void> {
  const traced = ["-f", "-y", "-xx", "-s", "8192", "-e", `trace=${CALLS}`, "-o", output, ...command];
  const child = spawn("strace", traced, { stdio: ["ignore", "pipe", "inherit"] });
  child.stdout.resume();
  const [code] = (await once(child, "close")) as [number];
  if (code !== 0) throw new Error(`the traced process ended with ${code}`);
}

/** In the order in which they were begun, but for flushes, which also end. */
export async function* read(output: string): AsyncGenerator<Done> {
  const flushing = new Map<string, string>();
  for await (const line of createInterface(createReadStream(output, "latin1"))) {
    const [, thread = "", call = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const flush = /^(?:fsync|fdatasync)\(\d+<([^>]*)>/.exec(call);
    const resumed = /^<\.\.\. (?:fsync|fdatasync) resumed>/.test(call);
    if (flush !== null) {
      const file = text(flush[1]);
      flushing.set(thread, file);
      yield { kind: "flush begun", file, thread };
    }
    if ((flush !== null && !/unfinished/.test(call)) || resumed) {
      // The process has ended before it has: whoever waits for a slow disk on another thread is not waited for.
      // (`strace` then shows no result, or another call's.) As if it never ended: a cut may take what it would have saved.
      if (/= -/.test(call)) throw new Error(`a flush failed: ${call}`);
      if (!call.endsWith("= 0")) continue;
      yield { kind: "flushed", file: flushing.get(thread) ?? "", thread };
    }
    const done = written(call, thread);
    if (done !== undefined) yield done;
  }
}

function written(call: string, thread: string): Done | undefined {
  const write = /^pwrite64\(\d+<([^>]*)>, "([^"]*)", \d+, (\d+)/.exec(call);
  if (write !== null) return { kind: "write", file: text(write[1]), at: Number(write[3]), bytes: raw(write[2]) };
  const said = /^write\(1<[^>]*>, "([^"]*)"/.exec(call);
  if (said !== null) return { kind: "said", line: text(said[1]).trim(), thread };
  const cut = /^ftruncate\(\d+<([^>]*)>, (\d+)/.exec(call);
  if (cut !== null) return { kind: "length", file: text(cut[1]), length: Number(cut[2]) };
  const removed = /^unlink(?:at)?\((?:[^"]*, )?"([^"]*)"/.exec(call);
  if (removed !== null) return { kind: "removed", file: text(removed[1]) };
  return undefined;
}

function raw(escaped = ""): Buffer {
  return Buffer.from(escaped.replaceAll("\\x", ""), "hex");
}

function text(escaped: string | undefined): string {
  return raw(escaped).toString();
}
