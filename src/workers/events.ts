/** The events of a whole space whose keys are spread over several objects: the streams of its parts as one. */

interface Reader {
  read(): Promise<{ readonly done: boolean; readonly value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}

/** One of another status stands for all, and the others are let go. */
export async function mergeEvents(parts: readonly Response[]): Promise<Response> {
  const bad = parts.find(({ ok, body }) => !ok || body === null);
  if (bad !== undefined) {
    await Promise.all(parts.map(async (part) => part !== bad && part.body?.cancel()));
    return bad;
  }
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const writer = writable.getWriter();
  const readers = parts.map(({ body }) => (body as ReadableStream<Uint8Array>).getReader() as Reader);
  // When one part ends, or the reader is gone, all end: whoever reads comes again, and learns what there is.
  const end = async (): Promise<void> => {
    await Promise.allSettled([writer.close(), ...readers.map((reader) => reader.cancel())]);
  };
  const flow = Promise.race(readers.map((reader) => pass(reader, writer)));
  flow.then(end, end).catch(() => undefined);
  return new Response(readable, { headers: new Headers(parts[0]?.headers) });
}

/** Whole events only, lest those of two parts are mixed. */
async function pass(reader: Reader, writer: WritableStreamDefaultWriter<Uint8Array>): Promise<void> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += decoder.decode(part.value, { stream: true });
    const end = text.lastIndexOf("\n\n") + 2;
    if (end < 2) continue;
    await writer.write(encoder.encode(text.slice(0, end)));
    text = text.slice(end);
  }
}
