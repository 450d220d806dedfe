/** The Worker's side: who may call at all, which object has the space, and the way there and back. */

import { Keyring, type Shown } from "../host/auth.ts";
import { isCredential, refusePage, unauthenticated } from "../host/gate.ts";
import { openApi } from "../host/openapi.ts";
import { json, problem } from "../host/problem.ts";
import { decodeSegment, rawPath, readSpace } from "../host/request.ts";
import { completeSettings, type HostSettings } from "../host/settings.ts";
import { isUpgrade } from "../requests.ts";
import { SPACE_DEFAULT } from "../protocol/names.ts";
import { partOf } from "../protocol/spread.ts";
import { bridge } from "./bridge.ts";
import { deliver } from "./delivery.ts";
import { mergeEvents } from "./events.ts";
import { type LatchkeyEnv, type LockObject, nameOf, UNCONFIRMED } from "./objects.ts";
import type { UpgradeResponse, WorkerSocket } from "./platform.ts";
import { readSettings } from "./settings.ts";
import { type Merge, mergeFor } from "./spread.ts";

export class Front {
  readonly #env: LatchkeyEnv;
  readonly #spread: number;
  readonly #settings: HostSettings;
  readonly #keyring: Keyring;

  constructor(env: LatchkeyEnv) {
    this.#env = env;
    const { spread, ...settings } = readSettings(env);
    this.#spread = spread;
    this.#settings = completeSettings(settings);
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
    const space = readSpace(request, credential);
    if (space instanceof Response) return space;
    const merge = this.#spread > 1 ? mergeFor(request.method, path) : undefined;
    if (merge !== undefined) return this.#askAll(inSpace(request, space), space, merge);
    if (this.#spread > 1 && request.method === "GET" && path === "/v1/events") {
      return mergeEvents(await Promise.all(this.parts(space).map((object) => object.fetch(inSpace(request, space)))));
    }
    const response = await this.object(space, path).fetch(inSpace(request, space));
    const unconfirmed = response.headers.get(UNCONFIRMED);
    if (unconfirmed === null) return response;
    const headers = new Headers(response.headers);
    headers.delete(UNCONFIRMED);
    return deliver(response.status, headers, await response.text(), (isDelivered) =>
      // A new stub each time: one that a call has failed on may be broken.
      this.object(space, path).confirm(unconfirmed, isDelivered),
    );
  }

  async #askAll(request: Request, space: string, merge: Merge): Promise<Response> {
    const body = await request.arrayBuffer();
    const init = body.byteLength > 0 ? { body } : {};
    const answers = await Promise.all(
      this.parts(space).map((object) => object.fetch(new Request(request, { ...init, method: request.method }))),
    );
    const bodies = await Promise.all(answers.map((answer) => answer.text()));
    const bad = answers.findIndex(({ ok }) => !ok);
    const { status, headers } = (answers[bad] ?? answers[0]) as Response;
    const merged = bad === -1 ? merge(bodies, request) : new Response(bodies[bad], { status, headers });
    for (const [name, value] of headers) if (name.startsWith("access-control-")) merged.headers.set(name, value);
    return merged;
  }

  async #upgrade(request: Request, shown: Shown): Promise<Response> {
    const named = new URL(request.url).searchParams.get("space");
    const own = isCredential(shown) ? (shown.space ?? SPACE_DEFAULT) : undefined;
    // Empty: the hello names no other space than the one that the key is for.
    const space = named === "" ? own : (named ?? undefined);
    const part = this.#partAsked(request);
    if (part === undefined) return problem("bad_request", `part must be a whole number below ${this.#spread}`);
    if (space !== undefined) return this.#part(space, part).fetch(inSpace(request, space));
    return bridge(request, shown, (told) => this.#connect(request, told, part));
  }

  async #connect(request: Request, space: string, part: number): Promise<WorkerSocket | undefined> {
    const response: UpgradeResponse = await this.#part(space, part).fetch(inSpace(request, space));
    return response.webSocket ?? undefined;
  }

  /** The one that has the key in the path; the first for what is about no key. */
  object(space: string, path: string): LockObject {
    const [, version, kind, segment = ""] = path.split("/");
    const isOfKey = version === "v1" && (kind === "latch" || kind === "idempotency");
    const key = isOfKey ? decodeSegment(segment.split("?")[0] ?? "") : undefined;
    return this.#part(space, key === undefined ? 0 : partOf(key, this.#spread));
  }

  parts(space: string): LockObject[] {
    return Array.from({ length: this.#spread }, (_, part) => this.#part(space, part));
  }

  #part(space: string, part: number): LockObject {
    return this.#env.LOCKS.getByName(nameOf({ space, part, spread: this.#spread }));
  }

  #partAsked(request: Request): number | undefined {
    const text = new URL(request.url).searchParams.get("part") ?? "0";
    const part = /^\d{1,4}$/.test(text) ? Number(text) : this.#spread;
    return part < this.#spread ? part : undefined;
  }
}

function inSpace(request: Request, space: string): Request {
  const url = new URL(request.url);
  if (url.searchParams.get("space") === space) return request;
  url.searchParams.set("space", space);
  return new Request(url.href, request);
}
