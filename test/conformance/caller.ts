/** HTTP calls as any program would make them. Bodies are unknown members on purpose: the wire is what is tested. */

import { keepSecret } from "./secrets.ts";

type Json = Readonly<Record<string, unknown>>;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test says what it expects, and fails where that is not so
  readonly body: any;
}

export interface CallOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

const PATIENCE_MS = 10_000;

export class Caller {
  readonly #url: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #query: string;

  constructor(url: string, options: { readonly auth?: string; readonly space?: string } = {}) {
    this.#url = url;
    this.#headers = options.auth === undefined ? {} : { authorization: `Bearer ${options.auth}` };
    this.#query = options.space === undefined ? "" : `?space=${options.space}`;
  }

  acquire(key: string, body: Json = {}, options: CallOptions = {}): Promise<Answer> {
    return this.request("POST", `${latch(key)}/acquire${this.#query}`, body, options);
  }

  extend(key: string, body: Json): Promise<Answer> {
    return this.request("POST", `${latch(key)}/extend${this.#query}`, body);
  }

  release(key: string, body: Json): Promise<Answer> {
    return this.request("POST", `${latch(key)}/release${this.#query}`, body);
  }

  revoke(key: string, body?: Json): Promise<Answer> {
    return this.request("DELETE", `${latch(key)}${this.#query}`, body);
  }

  status(key: string): Promise<Answer> {
    return this.request("GET", `${latch(key)}${this.#query}`);
  }

  /** Waits until that many claims wait for the key: the only way to know that a call without an answer has arrived. */
  async waiting(key: string, count: number): Promise<void> {
    const patientUntil = performance.now() + PATIENCE_MS;
    for (;;) {
      const { body } = await this.status(key);
      if (body.waiting === count) return;
      if (performance.now() > patientUntil) throw new Error(`${body.waiting} wait for ${key}, not ${count}`);
    }
  }

  async request(method: string, path: string, body?: Json | string, options: CallOptions = {}): Promise<Answer> {
    const response = await fetch(this.#url + path, {
      method,
      headers: { ...this.#headers, ...options.headers },
      ...(options.signal ? { signal: options.signal } : {}),
      ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type")?.includes("json");
    const answer = { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
    if (typeof answer.body.token === "string") keepSecret(answer.body.token);
    return answer;
  }
}

function latch(key: string): string {
  return `/v1/latch/${encodeURIComponent(key)}`;
}
