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
  const [first, given, last] = args.length > 2 ? args : [args[0], undefined, args[1]];
  const name = textOf(first);
  const options = (given ?? {}) as Given;
  demand(Object(options) === options, "options must be an object");
  // Each member is read once, and made into what it stands for before the next is.
  const ifAvailable = Boolean(options.ifAvailable);
  const { mode: asked = "exclusive" } = options;
  const mode = textOf(asked) as Mode;
  demand(mode === "exclusive" || mode === "shared", "mode must be exclusive or shared");
  const signal = options.signal as AbortSignal | undefined;
  demand(signal === undefined || signal instanceof AbortSignal, "signal must be an AbortSignal");
  const steal = Boolean(options.steal);
  const callback = last as Wish["callback"];
  demand(typeof callback === "function", "the callback must be a function");
  const isAtOdds = (steal && mode === "shared") || [steal, ifAvailable, signal].filter(Boolean).length > 1;
  if (name.startsWith("-") || isAtOdds) {
    throw new DOMException('a name that starts with "-", or options that exclude each other', "NotSupportedError");
  }
  signal?.throwIfAborted();
  return { name, mode, ifAvailable, steal, signal, callback };
}

/** What `String` does, save that a symbol is an error. */
function textOf(value: unknown): string {
  return "".concat(value as string);
}

function demand(isSo: boolean, rule: string): void {
  if (!isSo) throw new TypeError(rule);
}
