/** The arguments of `request`, read and judged as the standard says: in its order, and by its errors. */

import type { Mode } from "../locks.ts";
import type { WebLock } from "./types.ts";

/** What a call asks for. */
export interface Wish {
  readonly name: string;
  readonly mode: Mode;
  readonly ifAvailable: boolean;
  readonly steal: boolean;
  readonly signal: AbortSignal | undefined;
  readonly callback: (lock: WebLock | null) => unknown;
}

type Given = { readonly [Member in keyof Wish]?: unknown };

/** Throws a TypeError, a DOMException `NotSupportedError`, or the reason of a signal that is aborted already. */
export function wishOf(args: readonly unknown[]): Wish {
  const name = textOf(args[0]);
  const given = args.length > 2 ? args[1] : undefined;
  const options = (given ?? {}) as Given;
  if (Object(options) !== options) throw new TypeError("options must be an object");
  // Each member is read once, and made into what it stands for before the next is.
  const ifAvailable = Boolean(options.ifAvailable);
  const mode = modeOf(options.mode);
  const signal = signalOf(options.signal);
  const steal = Boolean(options.steal);
  const callback = args[args.length > 2 ? 2 : 1];
  if (typeof callback !== "function") throw new TypeError("the callback must be a function");
  const isAtOdds = (steal && mode === "shared") || [steal, ifAvailable, signal].filter(Boolean).length > 1;
  if (name.startsWith("-") || isAtOdds) {
    const rules = 'no name that starts with "-", steal for exclusive locks only, and one of steal, ifAvailable, signal';
    throw new DOMException(`a request has ${rules}`, "NotSupportedError");
  }
  signal?.throwIfAborted();
  return { name, mode, ifAvailable, steal, signal, callback: callback as Wish["callback"] };
}

/** What `String` does, save that a symbol is an error. */
function textOf(value: unknown): string {
  return "".concat(value as string);
}

function modeOf(value: unknown): Mode {
  const mode = value === undefined ? "exclusive" : textOf(value);
  if (mode !== "exclusive" && mode !== "shared") throw new TypeError("mode must be exclusive or shared");
  return mode;
}

function signalOf(value: unknown): AbortSignal | undefined {
  if (value === undefined || value instanceof AbortSignal) return value;
  throw new TypeError("signal must be an AbortSignal");
}
