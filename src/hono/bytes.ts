/** Reading a body of which nobody knows how long it is. */

/** A stream's reader, in as few words as all runtimes agree on. They also take text and buffers for bytes, some of them. */
interface Rest {
  read(): Promise<{ readonly done: boolean; readonly value?: unknown }>;
  cancel(reason?: unknown): Promise<void>;
}

/** All of it, or, when there is more than was allowed, what was read of it and what is still to be read. */
export type Read =
  | { readonly isWhole: true; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly isWhole: false; readonly parts: readonly Uint8Array[]; readonly rest: Rest };

/** Rejects when the stream breaks, or is of something that no runtime takes for bytes. */
export async function readUpTo(body: ReadableStream<Uint8Array> | null, bytesMax: number): Promise<Read> {
  const parts: Uint8Array[] = [];
  let length = 0;
  if (body === null) return { isWhole: true, bytes: new Uint8Array() };
  const reader = body.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    const part = bytesOf(next.value);
    parts.push(part);
    length += part.byteLength;
    if (length > bytesMax) return { isWhole: false, parts, rest: reader };
  }
  return { isWhole: true, bytes: joined(parts, length) };
}

/** What was read, and then the rest, at the reader's own pace. */
export function streamOf(parts: readonly Uint8Array[], rest: Rest): ReadableStream<Uint8Array> {
  const read = parts.values();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const next = read.next();
      const { done = false, value } = next.done === true ? await rest.read() : next;
      if (done) controller.close();
      else controller.enqueue(bytesOf(value));
    },
    cancel: (reason) => rest.cancel(reason),
  });
}

function bytesOf(part: unknown): Uint8Array {
  if (part instanceof Uint8Array) return part;
  if (typeof part === "string") return new TextEncoder().encode(part);
  if (part instanceof ArrayBuffer) return new Uint8Array(part);
  if (ArrayBuffer.isView(part)) return new Uint8Array(part.buffer, part.byteOffset, part.byteLength);
  throw new TypeError("a body must be a stream of bytes");
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}
