/** Judges the first frame of a connection: who speaks, and for which space. */

import { CLOSE, type CloseCode } from "../protocol/close.ts";
import type { HelloFrame } from "../protocol/frames.ts";
import { isSpace, SPACE_DEFAULT } from "../protocol/names.ts";
import type { ProblemCode } from "../protocol/problems.ts";
import type { Credential, Keyring, Shown } from "./auth.ts";
import { CALLER_MARK } from "./switchboard.ts";
import { DETAILS } from "./wire.ts";

/** Why a connection ends, and what it is told before. */
export interface Ending {
  readonly close: CloseCode;
  readonly code: ProblemCode;
  readonly detail: string;
}

export interface Introduced {
  readonly close: undefined;
  readonly credential: Credential;
  readonly space: string;
  /** Who is behind the session. */
  readonly user: string | undefined;
}

/** `urlSpace`: the one that the URL of the upgrade named. */
export function judgeHello(
  hello: HelloFrame,
  shown: Shown,
  keyring: Keyring,
  urlSpace: string | undefined,
): Introduced | Ending {
  const credential = shown === "none" ? keyring.judge(hello.auth) : shown;
  if (credential === "none" || credential === "wrong") {
    return { close: CLOSE.unauthenticated, code: "unauthenticated", detail: "a valid API key is needed" };
  }
  const space = hello.space ?? urlSpace ?? credential.space ?? SPACE_DEFAULT;
  if (!isSpace(space)) {
    return { close: CLOSE.badFrame, code: "bad_space", detail: "a space is 1 to 64 characters of A-Z a-z 0-9 . _ -" };
  }
  if (urlSpace !== undefined && urlSpace !== space) {
    return { close: CLOSE.badFrame, code: "bad_space", detail: "the URL of this connection named another space" };
  }
  if (credential.space !== undefined && credential.space !== space) {
    return { close: CLOSE.forbidden, code: "forbidden", detail: "this API key is for another space" };
  }
  if (hello.resume?.session.startsWith(CALLER_MARK) === true) {
    return { close: CLOSE.sessionEnded, code: "session_ended", detail: DETAILS.session_ended };
  }
  if (credential.user !== undefined && hello.user !== undefined && hello.user !== credential.user) {
    return { close: CLOSE.forbidden, code: "forbidden", detail: "this API key is another user's" };
  }
  return { close: undefined, credential, space, user: credential.user ?? hello.user };
}
