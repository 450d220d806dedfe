/** How Node's requests are answered: what costs a program most, its calls for each lock, without the web's Request and Response. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { getRequestListener, type Http2Bindings, type HttpBindings } from "@hono/node-server";
import { PLAIN_HEADERS, PlainAnswer } from "../src/host/plain.ts";
import type { Core } from "../src/latchkey.ts";
import { nodeCall } from "./node-call.ts";
import { onLost } from "./node-http.ts";

/** For a server's `request`. */
export function answerer(
  { host, onError }: Pick<Core, "host" | "onError">,
  options: { readonly overrideGlobalObjects: boolean },
): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  const respond = async (request: Request, { outgoing }: HttpBindings | Http2Bindings): Promise<Response> => {
    const response = await host.fetch(request);
    onLost(outgoing, () => host.undelivered(response));
    return response;
  };
  const listener = getRequestListener(respond, options);
  const lost = (answer: PlainAnswer): void => host.undelivered(answer);
  return (incoming, outgoing) => {
    const call = nodeCall(incoming, outgoing);
    const answered = call && host.direct(call);
    const written = answered === undefined ? listener(incoming, outgoing) : write(outgoing, answered, lost);
    written.catch((error: unknown) => onError(error, { where: "http" }));
  };
}

/** Writes what `answered` comes to. `lost`: a grant that was told did not leave. */
async function write(
  outgoing: ServerResponse,
  answered: Promise<Response | PlainAnswer>,
  lost: (answer: PlainAnswer) => void,
): Promise<void> {
  const answer = await answered;
  if (!(answer instanceof PlainAnswer)) {
    const body = Buffer.from(await answer.arrayBuffer());
    if (outgoing.destroyed) return;
    const headers = { ...Object.fromEntries(answer.headers), "content-length": body.length };
    outgoing.writeHead(answer.status, headers).end(body);
    return;
  }
  if (answer.grant !== undefined) onLost(outgoing, () => lost(answer));
  if (outgoing.destroyed) return;
  const { status, text } = answer;
  outgoing.writeHead(status, { ...PLAIN_HEADERS, "content-length": Buffer.byteLength(text) }).end(text);
}
