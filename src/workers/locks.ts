/** The locks of a space for a Worker's own code: the HTTP client, whose requests go to the object by RPC and over no network. */

import { type HttpClient, httpClient } from "../client/http-client.ts";
import type { Answered, Asked, LockObject } from "./objects.ts";
import { mergeFor } from "./spread.ts";

/** Nothing is looked up under this name. */
const NOWHERE = "http://localhost";

/** Which object a request is for, by its path, and which objects a space has. */
export interface Objects {
  object(space: string, path: string): LockObject;
  parts(space: string): readonly LockObject[];
}

export function locksOf(space: string, objects: Objects): HttpClient {
  return httpClient(NOWHERE, {
    space,
    fetch(url, { method = "GET", body, headers, signal }) {
      const path = url.slice(NOWHERE.length);
      const asked: Asked = {
        method,
        path,
        ...(headers !== undefined && { headers: headers as Record<string, string> }),
        ...((typeof body === "string" || body instanceof Uint8Array) && { body }),
      };
      const parts = objects.parts(space);
      const merge = parts.length > 1 ? mergeFor(method, new URL(url).pathname) : undefined;
      const answered =
        merge === undefined
          ? answer(objects.object(space, path), asked, signal ?? undefined)
          : Promise.all(parts.map((part) => part.ask(asked))).then((answers) => {
              const bad = answers.find(({ status }) => status !== 200);
              if (bad !== undefined) return responseOf(bad);
              return merge(
                answers.map((one) => new TextDecoder().decode(one.body)),
                new Request(url),
              );
            });
      return unlessAborted(answered, signal ?? undefined);
    },
  });
}

async function answer(object: LockObject, asked: Asked, signal: AbortSignal | undefined): Promise<Response> {
  const answered = await object.ask(asked);
  const { unconfirmed } = answered;
  if (unconfirmed !== undefined) {
    // Nobody wants it any more: the next in line should not wait until it is taken back.
    const isWanted = signal?.aborted !== true;
    // As when a connection breaks: the client repeats the request.
    if (!(await object.confirm(unconfirmed, isWanted)) && isWanted) throw new Error("the answer came too late");
  }
  return responseOf(answered);
}

function responseOf({ status, headers, body }: Answered): Response {
  return new Response(body as Uint8Array<ArrayBuffer>, { status, headers: { ...headers } });
}

/** A call by RPC cannot be broken off: its answer is left to itself. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
