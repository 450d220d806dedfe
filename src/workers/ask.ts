/** Calls by RPC: what a Worker's own code asks, in the words of the HTTP API and without HTTP. */

import { TRUSTED } from "../host/auth.ts";
import type { Host } from "../host/host.ts";
import type { Answered, Asked } from "./objects.ts";

export async function askHost(host: Host, { method, path, body, headers = {} }: Asked): Promise<Answered> {
  // A loopback name: there is no page, no key and no network to be careful of.
  const request = new Request(`http://localhost${path}`, {
    method,
    headers,
    ...(body !== undefined && { body: body as Uint8Array<ArrayBuffer> }),
  });
  const response = await host.fetch(request, TRUSTED);
  const unconfirmed = host.unconfirmed(response);
  return {
    status: response.status,
    body: new Uint8Array(await response.arrayBuffer()),
    headers: Object.fromEntries(response.headers),
    ...(unconfirmed !== undefined && { unconfirmed }),
  };
}
