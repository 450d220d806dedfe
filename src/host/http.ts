/** Everything over HTTP but the WebSocket itself: who may call, the routes, and problems for all that goes wrong. */

import { Hono } from "hono";
import { cors } from "hono/cors";
import { ATTEMPT_HEADER, ATTEMPT_NUMBER_HEADER, REPLAYED_HEADER } from "../protocol/headers.ts";
import { type Credential, type Shown } from "./auth.ts";
import { draining } from "./answers.ts";
import type { CallApp, CallVariables, Grants } from "./http-call.ts";
import { addIdempotencyRoutes } from "./http-idempotency.ts";
import { addLatchRoutes } from "./http-latch.ts";
import type { Gauges } from "./metrics.ts";
import { openApi } from "./openapi.ts";
import { isLoopback, isOriginAllowed } from "./origin.ts";
import type { HostParts } from "./parts.ts";
import { json, problem } from "./problem.ts";
import { Bucket } from "./rate.ts";
import { rawPath } from "./request.ts";

export interface HttpOptions {
  readonly grants: Grants;
  readonly gauges: () => Gauges;
  /** Whether the store answers; asking may try it again. */
  readonly isStoreAvailable: () => boolean | Promise<boolean>;
}

const METHODS: Readonly<Record<string, string>> = {
  "/v1/latch": "GET",
  "/v1/latch/:key{[^/]*}/acquire": "POST",
  "/v1/latch/:key{[^/]*}/extend": "POST",
  "/v1/latch/:key{[^/]*}/release": "POST",
  "/v1/latch/:key{[^/]*}": "GET, DELETE",
  "/v1/idempotency/:key{[^/]*}/begin": "POST",
  "/v1/idempotency/:key{[^/]*}/complete": "POST",
  "/v1/idempotency/:key{[^/]*}/fail": "POST",
  "/v1/idempotency/:key{[^/]*}/extend": "POST",
  "/v1/idempotency/:key{[^/]*}": "GET, DELETE",
  "/v1/session/:session": "DELETE",
  "/v1/session": "GET",
  "/healthz": "GET",
  "/readyz": "GET",
  "/metrics": "GET",
  "/openapi.json": "GET",
};

export function createApp(parts: HostParts, options: HttpOptions): CallApp {
  // Routes are matched against the path as it was sent, so that an encoded slash stays part of its key.
  const app: CallApp = new Hono<CallVariables>({ getPath: rawPath });
  app.use(async (call, next) => {
    await next();
    parts.metrics.count("latchkey_http_responses_total", call.res.status);
  });
  addGates(app, parts);
  addOperatingRoutes(app, parts, options);
  addLatchRoutes(app, parts, options.grants);
  addIdempotencyRoutes(app, parts, options.grants);
  app.get("/v1/session", () =>
    problem("upgrade_required", "connect to this path with a WebSocket", {}, { upgrade: "websocket" }),
  );
  for (const [path, allow] of Object.entries(METHODS)) {
    app.all(path, () => problem("method_not_allowed", `use ${allow}`, {}, { allow }));
  }
  app.notFound(() => problem("not_found", "there is nothing at this path"));
  app.onError((error) => {
    parts.onError(error, { where: "http" });
    return internal();
  });
  return app;
}

export function internal(): Response {
  return problem("internal", "something went wrong here");
}

/** What keeps a request from being served at all: its Host, its Origin, its credential, its rate. */
function addGates(app: CallApp, parts: HostParts): void {
  const { settings, keyring, clock } = parts;
  const buckets = new Map<string, Bucket>();
  app.use(async ({ req }, next) => {
    const refusal = refusePage(req.raw, parts);
    if (refusal !== undefined) return refusal;
    await next();
    return undefined;
  });
  const tellPage = cors({
    origin: (origin) => origin,
    allowMethods: ["GET", "POST", "DELETE"],
    allowHeaders: ["authorization", "content-type", "idempotency-key", ATTEMPT_HEADER],
    exposeHeaders: ["retry-after", REPLAYED_HEADER, ATTEMPT_NUMBER_HEADER],
    maxAge: 600,
  });
  app.use((call, next) => (call.req.raw.headers.has("origin") ? tellPage(call, next) : next()));
  const authenticate = (request: Request): Credential | Response => {
    const shown = keyring.shownBy(request);
    return isCredential(shown) ? shown : unauthenticated();
  };
  app.use("/metrics", async ({ req }, next) => {
    const credential = authenticate(req.raw);
    if (credential instanceof Response) return credential;
    await next();
    return undefined;
  });
  app.use("/v1/*", async (call, next) => {
    const credential = call.env?.credential ?? authenticate(call.req.raw);
    if (credential instanceof Response) return credential;
    if (parts.isDraining()) return draining();
    const now = clock.now();
    const bucket = buckets.get(credential.name) ?? new Bucket(settings.ratePerSecond, now);
    buckets.set(credential.name, bucket);
    if (!bucket.take(now)) return problem("limit", "too many calls a second", { limit: "rate" });
    call.set("credential", credential);
    await next();
    return undefined;
  });
}

/** Checked before anything happens, also on upgrades: browsers send more than a page is allowed to read. */
export function refusePage(
  request: Request,
  { settings, keyring }: Pick<HostParts, "settings" | "keyring">,
): Response | undefined {
  if (keyring.isEmpty && settings.loopbackHostsOnly && !isLoopback(request)) {
    return problem("forbidden", "without API keys only loopback names are served");
  }
  if (isOriginAllowed(request, settings.origins)) return undefined;
  return problem("forbidden", "this origin is not allowed");
}

export function unauthenticated(): Response {
  return problem("unauthenticated", "a valid API key is needed", {}, { "www-authenticate": "Bearer" });
}

export function isCredential(shown: Shown): shown is Credential {
  return shown !== "none" && shown !== "wrong";
}

function addOperatingRoutes(app: CallApp, parts: HostParts, options: HttpOptions): void {
  app.get("/healthz", () => json({ status: "ok" }));
  app.get("/readyz", async () => {
    if (parts.isDraining()) return draining();
    if (!(await options.isStoreAvailable())) return problem("unavailable", "the store cannot be reached");
    return json({ status: "ready", durable: parts.store.durable });
  });
  app.get("/metrics", () => {
    const headers = { "content-type": "text/plain; version=0.0.4; charset=utf-8", "cache-control": "no-store" };
    return new Response(parts.metrics.told(options.gauges()), { headers });
  });
  app.get("/openapi.json", () => json(openApi));
}
