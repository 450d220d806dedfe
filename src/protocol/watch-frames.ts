/** Frames with which a session follows who holds and who waits: as schemas what it sends, as types what it is told. */

import * as v from "valibot";
import { key, request } from "./fields.ts";

const watch = v.object({ t: v.literal("watch"), id: request, key: v.optional(key), prefix: v.optional(key) });
const expectedOne = "watch needs either a key or a prefix";

export const WatchFrames = [
  v.pipe(
    watch,
    v.check((frame) => (frame.key === undefined) !== (frame.prefix === undefined), expectedOne),
  ),
  v.object({ t: v.literal("unwatch"), id: request }),
] as const;

export type WatchFrame = v.InferInput<typeof watch>;
