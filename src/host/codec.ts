/** From the text of a message to frames that keep the rules of their shape, or to what is wrong with them. */

import * as v from "valibot";
import { ClientFrame, type ClientFrame as Frame } from "../protocol/frames.ts";
import { BATCH_FRAMES_MAX, FRAME_BYTES_MAX, PROTOCOL_VERSION, REQUEST_CHARS_MAX } from "../protocol/limits.ts";
import { utf8Bytes } from "../protocol/names.ts";
import type { ProblemCode } from "../protocol/problems.ts";
import { hotFrame } from "./hot-frames.ts";

export interface BadFrame {
  readonly t: undefined;
  readonly code: ProblemCode;
  readonly detail: string;
  /** The frame's own id, where it can be answered under it. */
  readonly id: string | undefined;
}

const TYPES: ReadonlySet<unknown> = new Set(ClientFrame.options.map((option) => option.entries.t.literal));

export function isFrameTooBig(text: string): boolean {
  // No code unit takes more than three bytes, so most frames need no counting.
  return text.length * 3 > FRAME_BYTES_MAX && utf8Bytes(text, FRAME_BYTES_MAX) > FRAME_BYTES_MAX;
}

/** One frame, or a batch of them in their order; each is good or bad by itself. */
export function parseFrames(text: string): readonly (Frame | BadFrame)[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The engine's own message would quote the text, and with it perhaps a token.
    return [bad("bad_json", "the frame is not JSON", undefined)];
  }
  if (!Array.isArray(value)) return [frameOf(value)];
  if (value.length > 0 && value.length <= BATCH_FRAMES_MAX) return value.map(frameOf);
  return [bad("bad_request", `a batch has 1 to ${BATCH_FRAMES_MAX} frames`, undefined)];
}

function frameOf(value: unknown): Frame | BadFrame {
  const hot = hotFrame(value);
  if (hot !== undefined) return hot;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return bad("bad_request", "a frame must be a JSON object", undefined);
  }
  const { t, id, v: version } = value as { t?: unknown; id?: unknown; v?: unknown };
  const usableId = typeof id === "string" && id !== "" && id.length <= REQUEST_CHARS_MAX ? id : undefined;
  if (typeof t !== "string") return bad("bad_request", "a frame needs its type, t", usableId);
  if (!TYPES.has(t)) return bad("unknown_frame", "there is no frame of this type", usableId);
  // Another version may have another hello, so this is said before its shape is looked at.
  if (t === "hello" && typeof version === "number" && version !== PROTOCOL_VERSION) {
    return bad("protocol_version", `this server speaks version ${PROTOCOL_VERSION}`, undefined);
  }
  return checked(value, usableId);
}

function checked(value: object, id: string | undefined): Frame | BadFrame {
  try {
    const result = v.safeParse(ClientFrame, value, { abortEarly: true });
    if (result.success) return result.output;
    const [issue] = result.issues;
    return bad(v.getDotPath(issue) === "key" ? "bad_key" : "bad_request", expected(issue), id);
  } catch {
    // Nested so deep that it cannot be written as text again: too big for anything that may nest.
    return bad("bad_request", "the frame is nested too deep", id);
  }
}

/** Our own messages say what was expected; valibot's could quote what was received. */
export function expected(issue: v.BaseIssue<unknown>): string {
  const field = v.getDotPath(issue) ?? "a field";
  if (issue.message.startsWith("Invalid key")) return `${field} is missing`;
  return issue.message.startsWith("Invalid") ? `${field} has a wrong value` : issue.message;
}

function bad(code: ProblemCode, detail: string, id: string | undefined): BadFrame {
  return { t: undefined, code, detail, id };
}
