/** What a bare HTTP handler answers: the bytes that Latchkey would answer with, made of what was asked without any thought. */

export const HEADERS = { "content-type": "application/json", "cache-control": "no-store" } as const;

export interface Asked {
  readonly ttl?: number;
}

let fence = 0;

export function answerTo(path: string, asked: Asked): string {
  if (path.endsWith("/release")) return '{"status":"released"}';
  return JSON.stringify({
    status: "acquired",
    key: path.split("/")[3],
    token: "AAAAAAAAAAAAAAAAAAAAAA",
    fence: ++fence,
    mode: "exclusive",
    reentrant: false,
    depth: 1,
    ttl: asked.ttl,
    expires_in: asked.ttl,
    expires_at: 1_800_000_000,
  });
}
