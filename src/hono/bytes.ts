/** Reading a body of which nobody knows how long it is. */

/** A stream's reader, in as few words as all runtimes agree on. */
interface Rest {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  cancel(reason?: unknown): Promise<void>;
}

/** All of it, or, when there is more than was allowed, what was read of it and what is still to be read. */
export type Read =
  | { readonly isWhole: true; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly isWhole: false; readonly parts: readonly Uint8Array[]; readonly rest: Rest };

/** Rejects when the stream breaks. */
export async function readUpTo(body: ReadableStream<Uint8Array> | null, bytesMax: number): Promise<Read> {
  const parts: Uint8Array[] = [];
  let length = 0;
  if (body === null) return { isWhole: true, bytes: new Uint8Array() };
  const reader = body.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) {
    parts.push(next.value);
    length += next.value.byteLength;
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
      if (value === undefined || done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => rest.cancel(reason),
  });
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
