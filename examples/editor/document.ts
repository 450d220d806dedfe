/**
 * What the form says, in memory, for whoever looks at it. Each field remembers the highest fence it has seen and refuses a
 * write with a lower one: that is all a resource has to do so that a holder who is late cannot spoil what its successor wrote.
 */

import { FIELDS, type FieldState, TEXT_CHARS_MAX } from "./fields.ts";

export const BODY_BYTES_MAX: number = 16 * TEXT_CHARS_MAX;
export const FOLLOWERS_MAX = 100;
/** Whoever does not read is cut, and follows anew when it does. */
const UNREAD_EVENTS_MAX = 1_000;
const encoder = new TextEncoder();

export class FormDocument {
  readonly #fields = new Map<string, FieldState>(
    FIELDS.map(({ name, text }) => [name, { name, text, fence: 0, by: "" }]),
  );
  readonly #followers = new Set<ReadableStreamDefaultController<Uint8Array>>();

  /** Server-sent events: each field as it is, and then each that changes. */
  follow(signal: AbortSignal): Response {
    const followers = this.#followers;
    if (followers.size >= FOLLOWERS_MAX) return answer(503, { error: "too many follow the document" });
    const fields = this.#fields;
    let own: ReadableStreamDefaultController<Uint8Array>;
    const leave = (): void => void followers.delete(own);
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        own = controller;
        followers.add(own);
        for (const field of fields.values()) own.enqueue(eventOf(field));
        signal.addEventListener("abort", leave, { once: true });
      },
      cancel: leave,
    });
    return new Response(body, {
      headers: {
        "content-type": "text/event-stream",
        "cache-control": "no-store",
        "x-content-type-options": "nosniff",
      },
    });
  }

  /** 412 for a fence that is lower than another seen before. Without a text it only says that a new holder is there. */
  async write(name: string, request: Request): Promise<Response> {
    const field = this.#fields.get(name);
    if (field === undefined) return answer(404, { error: "there is no such field" });
    const asked = read(await textOf(request));
    if (asked === undefined) return answer(400, { error: "a fence, a name and at most a short text are needed" });
    if (asked.fence < field.fence) return answer(412, field);
    const next = { ...field, ...asked };
    this.#fields.set(name, next);
    this.#tell(next);
    return answer(200, next);
  }

  #tell(field: FieldState): void {
    const event = eventOf(field);
    for (const follower of this.#followers) {
      const isBehind = (follower.desiredSize ?? 0) < -UNREAD_EVENTS_MAX;
      try {
        if (isBehind) follower.close();
        else follower.enqueue(event);
      } catch {
        // Its stream has ended, and nobody has said so yet.
        this.#followers.delete(follower);
      }
      if (isBehind) this.#followers.delete(follower);
    }
  }
}

/** Undefined for a body that is too large; the rest of it is not taken. */
async function textOf(request: Request): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let bytes = 0;
  let text = "";
  for await (const chunk of request.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > BODY_BYTES_MAX) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text;
}

function read(body: string | undefined): (Partial<FieldState> & { readonly fence: number }) | undefined {
  if (body === undefined) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return undefined;
  }
  const { fence, by, text } = (value ?? {}) as Record<string, unknown>;
  if (!Number.isSafeInteger(fence) || typeof by !== "string" || by.length > 40) return undefined;
  if (text === undefined) return { fence: fence as number, by };
  if (typeof text !== "string" || text.length > TEXT_CHARS_MAX) return undefined;
  return { fence: fence as number, by, text };
}

function eventOf(field: FieldState): Uint8Array {
  return encoder.encode(`data: ${JSON.stringify(field)}\n\n`);
}

function answer(status: number, body: object): Response {
  return Response.json(body, { status, headers: { "cache-control": "no-store" } });
}
