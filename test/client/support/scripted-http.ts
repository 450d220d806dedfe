// What is loaded later is there at once in virtual time.
import "../../../src/client/lock-set.ts";
import { expect } from "vitest";
import { type HttpClient, httpClient, type HttpOptions } from "../../../src/client/http.ts";
import { PROBLEMS, type ProblemCode } from "../../../src/protocol/problems.ts";
import { settle, VirtualTime } from "./virtual-time.ts";

type Body = Readonly<Record<string, unknown>>;

/** One request that the client sent; the test answers it. */
export class Sent {
  readonly url: string;
  readonly path: string;
  readonly method: string | undefined;
  readonly headers: Headers;
  readonly body: Body;
  /** As it was given to fetch. */
  readonly raw: unknown;
  readonly signal: AbortSignal | null | undefined;
  #resolve!: (response: Response) => void;
  #reject!: (error: unknown) => void;
  readonly response: Promise<Response>;

  constructor(url: string, init: RequestInit) {
    this.url = url;
    this.path = new URL(url).pathname;
    this.method = init.method;
    this.headers = new Headers(init.headers);
    this.body = typeof init.body === "string" ? (JSON.parse(init.body) as Body) : {};
    this.raw = init.body;
    this.signal = init.signal;
    this.response = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const abort = (): void => this.#reject(this.signal?.reason);
    if (this.signal?.aborted === true) abort();
    else this.signal?.addEventListener("abort", abort, { once: true });
  }

  async answer(body: Body, status = 200): Promise<void> {
    this.#resolve(new Response(JSON.stringify(body), { status }));
    await settle();
  }

  async problem(code: ProblemCode, members: Body = {}): Promise<void> {
    const { status, title, retryable } = PROBLEMS[code];
    await this.answer(
      { type: `urn:latchkey:problem:${code}`, title, status, detail: title, code, retryable, ...members },
      status,
    );
  }

  async respond(response: Response): Promise<void> {
    this.#resolve(response);
    await settle();
  }

  async fail(): Promise<void> {
    this.#reject(new TypeError("network"));
    await settle();
  }
}

export interface ScriptedHttp {
  readonly time: VirtualTime;
  readonly client: HttpClient;
  readonly errors: { readonly error: unknown; readonly where: string }[];
  readonly all: Sent[];
  /** The only request that was sent since. */
  readonly one: () => Sent;
}

export function scriptedHttp(options: HttpOptions = {}, url = "https://latchkey.test"): ScriptedHttp {
  const time = new VirtualTime();
  const all: Sent[] = [];
  const errors: { error: unknown; where: string }[] = [];
  let seen = 0;
  const client = httpClient(
    url,
    {
      fetch: (address, init) => {
        const sent = new Sent(address, init);
        all.push(sent);
        return sent.response;
      },
      onError: (error, { where }) => errors.push({ error, where }),
      ...options,
    },
    time,
  );
  const one = (): Sent => {
    const fresh = all.slice(seen);
    seen = all.length;
    expect(fresh.map((sent) => `${sent.method} ${sent.path}`)).toHaveLength(1);
    return fresh[0]!;
  };
  return { time, client, errors, all, one };
}

let fence = 1_000;

export function acquired(members: Body = {}): Body {
  fence += 1;
  return {
    status: "acquired",
    key: "a",
    token: "token-1",
    fence,
    mode: "exclusive",
    reentrant: false,
    depth: 1,
    ttl: 30_000,
    expires_in: 30_000,
    expires_at: 1_700_000_030,
    ...members,
  };
}
