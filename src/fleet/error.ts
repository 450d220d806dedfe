/** What is wrong with Redis, in our words. Nothing of what was sent is ever part of a message: it has tokens in it. */

/**
 * `unreachable`: no answer, so what was sent may or may not have happened. `replica`, `full`, `busy`: Redis said no, and nothing
 * happened; it may say yes later. `forbidden`: the credentials do not do. `unsuitable`: this Redis would lose locks.
 * `broken`: an answer that no Redis should give.
 */
export type FleetErrorCode = "unreachable" | "replica" | "full" | "busy" | "forbidden" | "unsuitable" | "broken";

export class FleetError extends Error {
  override readonly name = "FleetError";
  readonly code: FleetErrorCode;

  constructor(code: FleetErrorCode, message: string) {
    super(message);
    this.code = code;
  }

  /** Whether the same call may do better later. */
  get isPassing(): boolean {
    return this.code !== "broken" && this.code !== "unsuitable";
  }
}

const REPLIES: readonly (readonly [RegExp, FleetErrorCode])[] = [
  [/^READONLY/, "replica"],
  [/^OOM/, "full"],
  [/^(?:BUSY|UNKILLABLE|LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|MISCONF|MOVED|ASK)\b/, "busy"],
  [/script.*killed|max (?:daily|requests)|rate limit/i, "busy"],
  [/^(?:NOAUTH|WRONGPASS|NOPERM)|unauthorized/i, "forbidden"],
];

/** An error that Redis itself answered with. */
export function replyError(message: string): FleetError {
  // Upstash's client puts the command behind it, with all its arguments, and in a pipeline words of its own before it.
  const said = (message.split(", command was:")[0] ?? "").replace(/^Command failed: /, "");
  const code = REPLIES.find(([pattern]) => pattern.test(said))?.[1] ?? "broken";
  return new FleetError(code, `Redis answered: ${said.slice(0, 200)}`);
}

/** Anything else that kept a call from being answered. `error` may name an address, and credentials with it: only its code is shown. */
export function silence(error: unknown): FleetError {
  if (error instanceof FleetError) return error;
  const { code, name } = error as { code?: unknown; name?: unknown };
  const why = typeof code === "string" ? code : typeof name === "string" ? name : "no answer";
  return new FleetError("unreachable", `Redis cannot be reached: ${why}`);
}
