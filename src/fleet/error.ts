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
  [/^OOM|^ERR DB capacity quota exceeded/, "full"],
  [/^(?:BUSY|UNKILLABLE|LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|MISCONF|MOVED|ASK)\b/, "busy"],
  [/script.*killed|max number of clients|max (?:daily|requests|concurrent)|rate limit/i, "busy"],
  [/^(?:NOAUTH|WRONGPASS|NOPERM)|unauthorized/i, "forbidden"],
];

/** An error that Redis itself answered with. */
export function replyError(message: string): FleetError {
  // Upstash's client puts the command behind it, with all its arguments, and in a pipeline words of its own before it.
  const said = (message.split(", command was:")[0] ?? "").replace(/^Command failed: /, "");
  // Before 7 Redis puts what is wrong behind where the script was when it was told so.
  const inScript = said.replace(/^ERR Error running script .*: -(?=[A-Z]+ )/, "");
  const code = REPLIES.find(([pattern]) => pattern.test(inScript))?.[1] ?? "broken";
  return new FleetError(code, `Redis answered: ${said.slice(0, 200)}`);
}

/** What kept a connection from being opened: whatever it was, nothing had been sent yet that could have been carried out by half. */
export function unopened(error: unknown): FleetError {
  const understood = isReply(error) ? replyError(error.message) : silence(error);
  return understood.code === "broken" ? new FleetError("busy", understood.message) : understood;
}

/** By its shape: the class comes from a package that may be loaded twice. */
export function isReply(error: unknown): error is Error {
  return error instanceof Error && /^(?:[A-Z]{2,}|ERR)\b/.test(error.message);
}

/** Anything else that kept a call from being answered. `error` may name an address, and credentials with it: only its code is shown. */
export function silence(error: unknown): FleetError {
  if (error instanceof FleetError) return error;
  const { code, name } = error as { code?: unknown; name?: unknown };
  const why = typeof code === "string" ? code : typeof name === "string" ? name : "no answer";
  return new FleetError("unreachable", `Redis cannot be reached: ${why}`);
}
