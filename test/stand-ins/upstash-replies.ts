/** What a command's result looks like in Upstash's JSON. */

/** As Redis told it: texts are bytes, and an error may stand in the middle of a list. */
export type Raw = Buffer | string | number | null | Error | readonly Raw[];
type Result = string | number | null | readonly Result[];

export type Reply<Shown = Raw> = { readonly result: Shown } | { readonly error: string };

/**
 * With `Upstash-Encoding: base64` every text is base64, also those within lists, except exactly "OK". That makes bytes
 * that are no text arrive as they are; without it they are read as UTF-8.
 */
export function encoded(
  replies: Reply | readonly Reply[],
  isBase64: boolean,
): Reply<Result> | readonly Reply<Result>[] {
  const one = (reply: Reply): Reply<Result> => ("error" in reply ? reply : { result: shown(reply.result, isBase64) });
  return isList(replies) ? replies.map(one) : one(replies);
}

function shown(raw: Raw, isBase64: boolean): Result {
  if (raw === null || typeof raw === "number") return raw;
  if (raw instanceof Error) return shown(raw.message, isBase64);
  if (typeof raw !== "string" && !Buffer.isBuffer(raw)) return raw.map((item) => shown(item, isBase64));
  const text = raw.toString();
  if (!isBase64 || text === "OK") return text;
  return Buffer.from(raw as Buffer).toString("base64");
}

/** `Array.isArray` does not see readonly lists. */
function isList(replies: Reply | readonly Reply[]): replies is readonly Reply[] {
  return Array.isArray(replies);
}
