/** Who calls, and what they may do. */

import { BEARER_SUBPROTOCOL_PREFIX } from "../protocol/limits.ts";
import type { Asked } from "./asked.ts";
import type { ApiKey, Permission } from "./settings.ts";

export interface Credential {
  /** Empty where there are no keys. */
  readonly name: string;
  /** The only space that it opens. */
  readonly space?: string;
  /** The user whose sessions all are that show it. */
  readonly user?: string;
  readonly permissions: readonly Permission[];
}

/** What a request or an upgrade showed. `none` leaves it to the hello; `wrong` is final. */
export type Shown = Credential | "none" | "wrong";

/** Whoever runs in this process, and everybody where there are no keys. */
export const TRUSTED: Credential = { name: "", permissions: ["steal", "operate"] };

export class Keyring {
  readonly #keys: readonly { readonly secret: Uint8Array; readonly credential: Credential }[];

  constructor(keys: readonly ApiKey[]) {
    this.#keys = keys.map(({ secret, ...credential }) => ({ secret: new TextEncoder().encode(secret), credential }));
  }

  get isEmpty(): boolean {
    return this.#keys.length === 0;
  }

  /** An `Authorization` header goes before a subprotocol: a proxy can set it, a page cannot. */
  shownBy({ headers }: Pick<Asked, "headers">): Shown {
    if (this.isEmpty) return TRUSTED;
    const header = bearerOf(headers.get("authorization"));
    if (header !== undefined) return this.judge(header);
    return this.judge(bearerOfSubprotocol(headers.get("sec-websocket-protocol")));
  }

  judge(secret: string | undefined): Shown {
    if (this.isEmpty) return TRUSTED;
    if (secret === undefined) return "none";
    const shown = new TextEncoder().encode(secret);
    let found: Credential | undefined;
    // Every key is compared to its end, so that the time taken tells nothing about how near a guess was.
    for (const key of this.#keys) if (isSame(shown, key.secret)) found = key.credential;
    return found ?? "wrong";
  }
}

export function isPermitted(credential: Credential, permission: Permission): boolean {
  return credential.permissions.includes(permission);
}

/** Whether two secrets are the same, in a time that depends only on the length of the one shown. */
export function isSameSecret(shown: string, secret: string): boolean {
  const encoder = new TextEncoder();
  return isSame(encoder.encode(shown), encoder.encode(secret));
}

function isSame(shown: Uint8Array, secret: Uint8Array): boolean {
  let difference = shown.length ^ secret.length;
  for (let i = 0; i < shown.length; i++) difference |= (shown[i] ?? 0) ^ (secret[i % secret.length] ?? 0);
  return difference === 0;
}

/** The key of `Bearer <key>`; undefined when the header is absent or of another scheme. */
function bearerOf(header: string | null): string | undefined {
  return header === null ? undefined : /^bearer +(\S+) *$/i.exec(header)?.[1];
}

/** Browsers can set no header on a WebSocket, but they can offer a subprotocol. */
function bearerOfSubprotocol(header: string | null): string | undefined {
  for (const offered of offeredProtocols(header)) {
    if (offered.startsWith(BEARER_SUBPROTOCOL_PREFIX))
      return fromBase64Url(offered.slice(BEARER_SUBPROTOCOL_PREFIX.length));
  }
  return undefined;
}

export function offeredProtocols(header: string | null): string[] {
  return header === null ? [] : header.split(",").map((offered) => offered.trim());
}

/** Empty, and thereby no key, when it cannot be decoded. */
function fromBase64Url(text: string): string {
  try {
    return atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  } catch {
    return "";
  }
}
