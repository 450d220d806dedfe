/** A stored answer, given again. */

import type { Replay } from "../client/idempotency-calls.ts";
import { decodeAnswer, ENVELOPE_TYPE } from "./envelope.ts";
import { problem } from "./problems.ts";

export const REPLAYED = "Idempotent-Replayed";

export function replay(
  { result, contentType }: Replay,
  key: string,
  onError: (error: unknown, context: { readonly where: string }) => void,
): Response {
  const answer = contentType === ENVELOPE_TYPE ? decodeAnswer(result) : undefined;
  if (answer === undefined) {
    onError(new Error(`the record ${JSON.stringify(key)} holds no answer of this middleware`), { where: "replay" });
    return problem("unavailable", "what is stored under this key is no answer");
  }
  const headers = new Headers(answer.headers.map(([name, value]) => [name, value]));
  headers.set(REPLAYED, "true");
  if (answer.body === undefined) {
    return problem("answer_not_kept", `it was answered with status ${answer.status}`, { headers });
  }
  const { status } = answer;
  return new Response(answer.body.byteLength === 0 ? null : (answer.body as Uint8Array<ArrayBuffer>), {
    status,
    headers,
  });
}
