/** The arguments of `request`, read and judged as the standard says: in its order, and by its errors. */

import type { AcquireOptions, Mode } from "../locks.ts";
import type { WebLock, WebLockOptions } from "./types.ts";

/** What a call asks for. */
export interface Wish {
  readonly name: string;
  readonly ifAvailable: boolean;
  readonly wanted: AcquireOptions;
  readonly callback: (lock: WebLock | null) => unknown;
}

type Given = { readonly [Member in keyof WebLockOptions]?: unknown };

/** Throws a TypeError, a DOMException `NotSupportedError`, or the reason of a signal that is aborted already. */
export function wishOf(args: readonly unknown[]): Wish {
  const [first, given, callback] = args.length > 2 ? args : [args[0], null, args[1]];
  const name = textOf(first);
  const options = (given ?? {}) as Given;
  demand(Object(options) === options, "options");
  // Each member is read once, and made into what it stands for before the next is.
  const ifAvailable = Boolean(options.ifAvailable);
  const { mode: asked = "exclusive" } = options;
  const mode = textOf(asked) as Mode;
  demand(mode === "exclusive" || mode === "shared", "mode");
  const signal = options.signal as AbortSignal | undefined;
  demand(signal === undefined || signal instanceof AbortSignal, "signal");
  const steal = Boolean(options.steal);
  demand(typeof callback === "function", "callback");
  const isAtOdds = (steal && (ifAvailable || mode === "shared")) || (signal && (steal || ifAvailable));
  if (name[0] === "-" || isAtOdds) {
    throw new DOMException("no such name or options", "NotSupportedError");
  }
  // What is not asked for is not said: servers read the plain frame fastest.
  const wanted = { mode, steal: steal || undefined, signal };
  return { name, ifAvailable, wanted, callback: callback as Wish["callback"] };
}

/** What `String` does, save that a symbol is an error. */
function textOf(value: unknown): string {
  return "".concat(value as string);
}

function demand(isValid: boolean, what: string): void {
  if (!isValid) throw new TypeError(`${what} is not valid`);
}
