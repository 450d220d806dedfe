/** What the cases claim, and the words for it when it is not so. */

export function check(holds: boolean, claim: string): asserts holds {
  if (!holds) throw new Error(`not so: ${claim}`);
}

/** By `Object.is`, or for lists and plain objects by what is in them. */
export function same(actual: unknown, expected: unknown, what: string): void {
  const isSame = Object.is(actual, expected) || (isObject(expected) && shown(actual) === shown(expected));
  check(isSame, `${what} is ${shown(expected)}; it is ${shown(actual)}`);
}

/** What the promise rejects with. */
export async function rejection(promise: unknown): Promise<unknown> {
  check(promise instanceof Promise, "a request answers with a promise");
  let result: unknown;
  try {
    result = await promise;
  } catch (reason) {
    return reason;
  }
  throw new Error(`not so: it rejects; it resolves with ${shown(result)}`);
}

/** Rejects with a DOMException of this name. */
export async function domException(promise: unknown, name: string): Promise<DOMException> {
  const reason = await rejection(promise);
  check(reason instanceof DOMException, `it rejects with a DOMException; it is ${shown(reason)}`);
  same(reason.name, name, "the name of the DOMException");
  return reason;
}

export async function typeError(promise: unknown): Promise<void> {
  const reason = await rejection(promise);
  check(reason instanceof TypeError, `it rejects with a TypeError; it is ${shown(reason)}`);
}

/** What was called, and when: an order of events. */
export class Events {
  readonly all: string[] = [];

  add(event: string): void {
    this.all.push(event);
  }

  are(...expected: string[]): void {
    same(this.all, expected, "the order of events");
  }
}

/** A promise together with what settles it. */
export function gate<T = void>(): { readonly opened: Promise<T>; readonly open: (value: T) => void } {
  let open!: (value: T) => void;
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

/** What is waiting to run in this turn has run; nothing that comes from outside has. */
export async function microtasks(): Promise<void> {
  for (let i = 0; i < 50; i++) await Promise.resolve();
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

function shown(value: unknown): string {
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  return typeof value === "function" || typeof value === "symbol"
    ? String(value)
    : (JSON.stringify(value) ?? "undefined");
}
