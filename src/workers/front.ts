/** The Worker's side: who may call at all, which object has the space, and the way there and back. */

import { Keyring, type Shown } from "../host/auth.ts";
import { isCredential, refusePage, unauthenticated } from "../host/http.ts";
import { openApi } from "../host/openapi.ts";
import { json, problem } from "../host/problem.ts";
import { rawPath, readSpace } from "../host/request.ts";
import { completeSettings, type HostSettings } from "../host/settings.ts";
import { isUpgrade } from "../requests.ts";
import { SPACE_DEFAULT } from "../protocol/names.ts";
import { bridge } from "./bridge.ts";
import { deliver } from "./delivery.ts";
import { type LatchkeyEnv, type LockObject, nameOf, UNCONFIRMED } from "./objects.ts";
import type { UpgradeResponse, WorkerSocket } from "./platform.ts";
import { type ObjectSettings, readSettings } from "./settings.ts";

export class Front {
  readonly #env: LatchkeyEnv;
  readonly #objects: ObjectSettings;
  readonly #settings: HostSettings;
  readonly #keyring: Keyring;

  constructor(env: LatchkeyEnv) {
    this.#env = env;
    this.#objects = readSettings(env);
    this.#settings = completeSettings(this.#objects);
    this.#keyring = new Keyring(this.#settings.keys);
  }

  /** Never rejects. The object judges everything again: what the Worker refuses only spares it the work. */
  async fetch(request: Request): Promise<Response> {
    const path = rawPath(request);
    if (path === "/healthz") return json({ status: "ok" });
    if (path === "/openapi.json") return json(openApi);
    const refusal = refusePage(request, { settings: this.#settings, keyring: this.#keyring });
    if (refusal !== undefined) return refusal;
    try {
      const shown = this.#keyring.shownBy(request);
      if (isUpgrade(request) && path === "/v1/session") return await this.#upgrade(request, shown);
      return await this.#call(request, path, shown);
    } catch {
      // The object was reset, moved or has too much to do; whether the call had its effect is not known.
      return problem("unavailable", "the space cannot be reached");
    }
  }

  async #call(request: Request, path: string, shown: Shown): Promise<Response> {
    // A page must be able to read why it was refused: its calls get their answer, with the headers for it, from the object.
    const isOpen = request.headers.has("origin") || !(path.startsWith("/v1/") || path === "/metrics");
    if (!isOpen && !isCredential(shown)) return unauthenticated();
    const credential = isCredential(shown) ? shown : { name: "", permissions: [] };
    const space = readSpace(new URL(request.url).searchParams, credential);
    if (space instanceof Response) return space;
    const object = this.#object(space);
    const response = await object.fetch(inSpace(request, space));
    const unconfirmed = response.headers.get(UNCONFIRMED);
    if (unconfirmed === null) return response;
    const headers = new Headers(response.headers);
    headers.delete(UNCONFIRMED);
    return deliver(response.status, headers, await response.text(), (isDelivered) =>
      object.confirm(unconfirmed, isDelivered),
    );
  }

  async #upgrade(request: Request, shown: Shown): Promise<Response> {
    const named = new URL(request.url).searchParams.get("space");
    const own = isCredential(shown) ? (shown.space ?? SPACE_DEFAULT) : undefined;
    // Empty: the hello names no other space than the one that the key is for.
    const space = named === "" ? own : (named ?? undefined);
    if (space !== undefined) return this.#object(space).fetch(inSpace(request, space));
    return bridge(request, shown, (told) => this.#connect(request, told));
  }

  async #connect(request: Request, space: string): Promise<WorkerSocket | undefined> {
    const response: UpgradeResponse = await this.#object(space).fetch(inSpace(request, space));
    return response.webSocket ?? undefined;
  }

  #object(space: string): LockObject {
    return this.#env.LOCKS.getByName(nameOf({ space, part: 0, spread: 1 }));
  }
}

function inSpace(request: Request, space: string): Request {
  const url = new URL(request.url);
  if (url.searchParams.get("space") === space) return request;
  url.searchParams.set("space", space);
  return new Request(url.href, request);
}
