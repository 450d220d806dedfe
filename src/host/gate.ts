/** What keeps a request from being served at all: its Host, its Origin, its credential, its rate, its space. */

import type { Asked } from "./asked.ts";
import type { Credential, Shown } from "./auth.ts";
import { draining } from "./answers.ts";
import { isLoopback, isOriginAllowed } from "./origin.ts";
import type { HostParts } from "./parts.ts";
import { problem } from "./problem.ts";
import { Bucket } from "./rate.ts";
import { readSpace } from "./request.ts";

/** A request that may be served. */
export interface Call {
  readonly request: Asked;
  readonly credential: Credential;
  readonly space: string;
}

export class Gate {
  readonly #parts: HostParts;
  readonly #buckets: Map<string, Bucket> = new Map();

  constructor(parts: HostParts) {
    this.#parts = parts;
  }

  /** `credential`: who calls, where that is known without a key. */
  enter(request: Asked, credential: Credential | Response = this.authenticate(request)): Call | Response {
    if (credential instanceof Response) return credential;
    const { clock, settings } = this.#parts;
    if (this.#parts.isDraining()) return draining();
    const now = clock.now();
    let bucket = this.#buckets.get(credential.name);
    if (bucket === undefined) {
      bucket = new Bucket(settings.ratePerSecond, now);
      this.#buckets.set(credential.name, bucket);
    }
    if (!bucket.take(now)) return problem("limit", "too many calls a second", { limit: "rate" });
    const space = readSpace(request, credential);
    return space instanceof Response ? space : { request, credential, space };
  }

  authenticate(request: Asked): Credential | Response {
    const shown = this.#parts.keyring.shownBy(request);
    return isCredential(shown) ? shown : unauthenticated();
  }
}

/** Checked before anything happens, also on upgrades: browsers send more than a page is allowed to read. */
export function refusePage(request: Asked, parts: Pick<HostParts, "settings" | "keyring">): Response | undefined {
  const refusal = refuseHost(request, parts);
  if (refusal !== undefined || isOriginAllowed(request, parts.settings.origins)) return refusal;
  return problem("forbidden", "this origin is not allowed");
}

/** All that `refusePage` checks of a request that comes from no page. */
export function refuseHost(
  request: Asked,
  { settings, keyring }: Pick<HostParts, "settings" | "keyring">,
): Response | undefined {
  if (!keyring.isEmpty || !settings.loopbackHostsOnly || isLoopback(request)) return undefined;
  return problem("forbidden", "without API keys only loopback names are served");
}

export function unauthenticated(): Response {
  return problem("unauthenticated", "a valid API key is needed", {}, { "www-authenticate": "Bearer" });
}

export function isCredential(shown: Shown): shown is Credential {
  return shown !== "none" && shown !== "wrong";
}
