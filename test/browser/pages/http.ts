/** A page without the client: `fetch` alone. */

import type { HttpCalls } from "../support/http-calls.ts";

const calls: HttpCalls = {
  warmUp: async (count) => {
    const asked = Array.from({ length: count }, (_, i) => fetch(`/v1/latch/warm-${i}`));
    for (const response of await Promise.all(asked)) await response.text();
  },
  acquire: async (key, requestId, timeoutMs) => {
    const startedAt = performance.now();
    const response = await fetch(`/v1/latch/${encodeURIComponent(key)}/acquire`, {
      method: "POST",
      headers: { "idempotency-key": requestId },
      body: JSON.stringify({ ttl: 10_000, timeout: timeoutMs }),
    });
    const body = (await response.json()) as unknown;
    return { status: response.status, body, tookMs: performance.now() - startedAt };
  },
};
Object.assign(globalThis, { calls });
