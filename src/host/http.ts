/** Everything over HTTP but the WebSocket itself: the routes, and problems for all that goes wrong. */

import { Hono } from "hono";
import { cors } from "hono/cors";
import { ATTEMPT_HEADER, ATTEMPT_NUMBER_HEADER, REPLAYED_HEADER } from "../protocol/headers.ts";
import { draining } from "./answers.ts";
import type { Asked } from "./asked.ts";
import type { Credential } from "./auth.ts";
import { Gate, refuseHost, refusePage } from "./gate.ts";
import type { CallVariables, Grants, Router } from "./http-call.ts";
import { addEventRoutes } from "./http-events.ts";
import { addIdempotencyRoutes } from "./http-idempotency.ts";
import { addLatchRoutes } from "./http-latch.ts";
import { lockCall } from "./http-lock.ts";
import type { Gauges } from "./metrics.ts";
import { openApi } from "./openapi.ts";
import type { HostParts } from "./parts.ts";
import type { PlainAnswer } from "./plain.ts";
import { json, problem } from "./problem.ts";
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
  "/v1/latch/:key{[^/]*}/events": "GET",
  "/v1/latch/:key{[^/]*}": "GET, DELETE",
  "/v1/events": "GET",
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

/** Answers requests that are no upgrades. */
export interface App {
  /** `credential`: who calls, where that is known without a key. Never rejects. */
  fetch(request: Request, credential?: Credential): Promise<Response>;
  /** The same for the calls that programs make for each lock, without the web's types; undefined: it is none of them. */
  direct(request: Asked, credential?: Credential): Promise<Response | PlainAnswer> | undefined;
}

export function createApp(parts: HostParts, options: HttpOptions): App {
  const gate = new Gate(parts);
  const router = createRouter(parts, options, gate);
  const counted = async <Answer extends Response | PlainAnswer>(
    answer: () => Promise<Answer> | Answer,
  ): Promise<Answer | Response> => {
    let answered: Answer | Response;
    try {
      answered = await answer();
    } catch (error) {
      parts.onError(error, { where: "http" });
      answered = internal();
    }
    parts.metrics.count("latchkey_http_responses_total", answered.status);
    return answered;
  };
  return {
    fetch: (request, credential) =>
      counted(() => router.fetch(request, credential === undefined ? {} : { credential })),
    direct(request, credential) {
      const found = lockCall(request);
      if (found === undefined) return undefined;
      return counted(() => {
        const call = refuseHost(request, parts) ?? gate.enter(request, credential);
        return call instanceof Response ? call : found.serve(call, found.segment, parts, options.grants);
      });
    },
  };
}

function internal(): Response {
  return problem("internal", "something went wrong here");
}

function createRouter(parts: HostParts, options: HttpOptions, gate: Gate): Router {
  // Routes are matched against the path as it was sent, so that an encoded slash stays part of its key.
  const router: Router = new Hono<CallVariables>({ getPath: rawPath });
  addGates(router, parts, gate);
  addOperatingRoutes(router, parts, options);
  addLatchRoutes(router, parts, options.grants);
  addIdempotencyRoutes(router, parts, options.grants);
  addEventRoutes(router, parts);
  router.get("/v1/session", () =>
    problem("upgrade_required", "connect to this path with a WebSocket", {}, { upgrade: "websocket" }),
  );
  for (const [path, allow] of Object.entries(METHODS)) {
    router.all(path, () => problem("method_not_allowed", `use ${allow}`, {}, { allow }));
  }
  router.notFound(
    async ({ req }) => (await parts.settings.pages(req.raw)) ?? problem("not_found", "there is nothing at this path"),
  );
  router.onError((error) => {
    parts.onError(error, { where: "http" });
    return internal();
  });
  return router;
}

function addGates(router: Router, parts: HostParts, gate: Gate): void {
  router.use(async ({ req }, next) => {
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
  router.use((call, next) => (call.req.raw.headers.has("origin") ? tellPage(call, next) : next()));
  router.use("/metrics", async ({ req }, next) => {
    const credential = gate.authenticate(req.raw);
    if (credential instanceof Response) return credential;
    await next();
    return undefined;
  });
  router.use("/v1/*", async (context, next) => {
    const call = gate.enter(context.req.raw, context.env?.credential);
    if (call instanceof Response) return call;
    context.set("call", call);
    await next();
    return undefined;
  });
}

function addOperatingRoutes(router: Router, parts: HostParts, options: HttpOptions): void {
  router.get("/healthz", () => json({ status: "ok" }));
  router.get("/readyz", async () => {
    if (parts.isDraining()) return draining();
    if (!(await options.isStoreAvailable())) return problem("unavailable", "the store cannot be reached");
    return json({ status: "ready", durable: parts.store.durable });
  });
  router.get("/metrics", () => {
    const headers = { "content-type": "text/plain; version=0.0.4; charset=utf-8", "cache-control": "no-store" };
    return new Response(parts.metrics.told(options.gauges()), { headers });
  });
  router.get("/openapi.json", () => json(openApi));
}
