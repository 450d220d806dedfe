/** An answer of 200 in JSON that is still text: what writes it may spare itself the web's Response. */

import type { GrantTold } from "./http-call.ts";

export class PlainAnswer {
  readonly status = 200;
  readonly text: string;
  /** What it grants. */
  readonly grant: GrantTold | undefined;

  constructor(body: object, grant?: GrantTold) {
    this.text = JSON.stringify(body);
    this.grant = grant;
  }

  toResponse(): Response {
    return new Response(this.text, { headers: PLAIN_HEADERS });
  }
}

export const PLAIN_HEADERS: Readonly<Record<string, string>> = {
  "content-type": "application/json",
  "cache-control": "no-store",
};
