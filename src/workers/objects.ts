/** Names of the objects of a space, and what the Worker asks of them. */

import type { ObjectNamespace } from "./platform.ts";

/** A call by RPC, in the words of the HTTP API. */
export interface Asked {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly body?: string | Uint8Array;
  /** Besides those that every call has. */
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Answered {
  readonly status: number;
  readonly body: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  /** A grant after a wait, taken back unless it is confirmed under this name. */
  readonly unconfirmed?: string;
}

/** What a binding gives: `LockSpace` as it is seen from the Worker. */
export interface LockObject {
  fetch(request: Request): Promise<Response>;
  ask(asked: Asked): Promise<Answered>;
  /** Whether the grant with that name stands: if not, it must not be told. */
  confirm(name: string, isDelivered: boolean): Promise<boolean>;
  /** Tells every session when to come back and sends waiting callers away. The object serves on. */
  drain(): Promise<void>;
}

/** A grant after a wait that is not confirmed for so long is taken back. */
export const CONFIRM_MS = 5000;

export interface LatchkeyEnv {
  readonly LOCKS: ObjectNamespace<LockObject>;
}

/** On answers from an object to the Worker, which takes it off. */
export const UNCONFIRMED = "latchkey-unconfirmed";

export interface Place {
  readonly space: string;
  readonly part: number;
  readonly spread: number;
}

/** No name of a space has a slash. The spread is part of the name: two spreads never share an object, or its keys. */
export function nameOf({ space, part, spread }: Place): string {
  return spread === 1 ? space : `${space}/${part}/${spread}`;
}

export function placeOf(name: string): Place {
  const [space = "", part = "0", spread = "1"] = name.split("/");
  return { space, part: Number(part), spread: Number(spread) };
}
