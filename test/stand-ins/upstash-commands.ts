/** Runs what arrives over REST on one connection to Redis. */

import { createHash } from "node:crypto";
import { ErrorReply, RESP_TYPES } from "redis";
import type { Raw, Reply } from "./upstash-replies.ts";

/** The part of a `redis` client that is needed. */
interface Connection {
  sendCommand(args: readonly string[], options?: object): Promise<unknown>;
}

type Command = readonly [string, ...string[]];

/** A request has no connection of its own to block, to watch keys or to be in a state: Upstash refuses these too. */
const REFUSED =
  /^(?:BLPOP|BRPOP|BRPOPLPUSH|BLMOVE|BLMPOP|BZPOPMIN|BZPOPMAX|BZMPOP|WATCH|UNWATCH|MULTI|EXEC|DISCARD|S?SUBSCRIBE|PSUBSCRIBE|MONITOR|SELECT|AUTH|HELLO|RESET|QUIT|CLIENT|WAIT|SHUTDOWN)$/;

/** Upstash runs such a script without its global lock; Redis does not know the flag and refuses the script. */
const KEY_LOCKING = /^#!lua flags=allow-key-locking\r?\n/;

/** Bytes, since base64 of a text that Redis' reader had to repair would be another one. */
const AS_BYTES = { typeMapping: { [RESP_TYPES.BLOB_STRING]: Buffer } };

export class UpstashCommands {
  readonly #redis: Connection;
  /** What Redis calls the scripts whose first line was taken off, by what the client calls them. */
  readonly #renamed = new Map<string, string>();

  constructor(redis: Connection) {
    this.#redis = redis;
  }

  /** Undefined: there is no such path. Rejects only when the connection is lost. */
  async answer(path: string, body: unknown): Promise<Reply | readonly Reply[] | undefined> {
    if (path === "/") return isCommand(body) ? this.#run(words(body)) : malformed("a command");
    if (path !== "/pipeline" && path !== "/multi-exec") return undefined;
    if (!Array.isArray(body) || body.length === 0 || !body.every(isCommand)) return malformed("a list of commands");
    const commands = body.map(words);
    // All are sent in this tick, one behind the other.
    return path === "/pipeline" ? Promise.all(commands.map((command) => this.#run(command))) : this.#runAll(commands);
  }

  async #run(command: Command): Promise<Reply> {
    if (isRefused(command)) return refusal(command);
    return settled(this.#send(command));
  }

  /** One that Redis does not take makes it discard all: a single error. One that fails while running is among the results. */
  async #runAll(commands: readonly Command[]): Promise<Reply | readonly Reply[]> {
    const refused = commands.find(isRefused);
    if (refused !== undefined) return refusal(refused);
    // No other command gets between these: nothing is awaited before the last of them is sent.
    const queued = [["MULTI"] as const, ...commands].map((command) => settled(this.#send(command)));
    const [executed, ...answers] = await Promise.all([settled(this.#send(["EXEC"])), ...queued]);
    if (executed === undefined || "error" in executed) return answers.find((answer) => "error" in answer) ?? executed;
    return (executed.result as readonly Raw[]).map((raw) =>
      raw instanceof Error ? { error: raw.message } : { result: raw },
    );
  }

  async #send(command: Command): Promise<Raw> {
    const [name, ...rest] = command;
    switch (name.toUpperCase()) {
      case "EVAL":
      case "EVAL_RO":
        return this.#raw([name, this.#plain(rest[0] ?? ""), ...rest.slice(1)]);
      case "EVALSHA":
      case "EVALSHA_RO":
        return this.#raw([name, this.#renamed.get(rest[0] ?? "") ?? rest[0] ?? "", ...rest.slice(1)]);
      case "SCRIPT":
        return this.#script(rest);
      default:
        return this.#raw(command);
    }
  }

  async #script([what = "", ...rest]: readonly string[]): Promise<Raw> {
    const [script = ""] = rest;
    switch (what.toUpperCase()) {
      case "LOAD":
        await this.#raw(["SCRIPT", what, this.#plain(script)]);
        return sha1(script);
      case "EXISTS":
        return this.#raw(["SCRIPT", what, ...rest.map((name) => this.#renamed.get(name) ?? name)]);
      default:
        return this.#raw(["SCRIPT", what, ...rest]);
    }
  }

  #plain(script: string): string {
    const plain = script.replace(KEY_LOCKING, "");
    if (plain !== script) this.#renamed.set(sha1(script), sha1(plain));
    return plain;
  }

  #raw(args: readonly string[]): Promise<Raw> {
    return this.#redis.sendCommand(args, AS_BYTES) as Promise<Raw>;
  }
}

async function settled(sent: Promise<Raw>): Promise<Reply> {
  try {
    return { result: await sent };
  } catch (error) {
    // Anything else means that Redis gave no answer.
    if (error instanceof ErrorReply) return { error: error.message };
    throw error;
  }
}

function isCommand(body: unknown): body is readonly [unknown, ...unknown[]] {
  return Array.isArray(body) && body.length > 0;
}

function words(command: readonly [unknown, ...unknown[]]): Command {
  const [name, ...args] = command.map((word) => (typeof word === "string" ? word : JSON.stringify(word)));
  return [name ?? "", ...args];
}

function isRefused([name, ...rest]: Command): boolean {
  const isBlockingRead = /^XREAD(?:GROUP)?$/i.test(name) && rest.some((word) => /^BLOCK$/i.test(word));
  return isBlockingRead || REFUSED.test(name.toUpperCase());
}

function refusal([name]: Command): Reply {
  return { error: `ERR Command is not available: '${name}'` };
}

function malformed(expected: string): Reply {
  return { error: `ERR failed to parse the body: it must be ${expected}` };
}

function sha1(text: string): string {
  return createHash("sha1").update(text).digest("hex");
}
