/** Whether a WebSocket may be opened. */

import { SUBPROTOCOL } from "../protocol/limits.ts";
import { isSpace } from "../protocol/names.ts";
import { draining } from "./answers.ts";
import { offeredProtocols, type Shown } from "./auth.ts";
import { refusePage } from "./gate.ts";
import type { HostParts } from "./parts.ts";
import { problem } from "./problem.ts";
import { rawPath } from "./request.ts";

/** An upgrade that may go on, and what its request showed; goes from `admit` to `opened`. */
export interface Admission {
  /** The subprotocol to echo; undefined: none. */
  readonly protocol: string | undefined;
  readonly shown: Shown;
  /** The space that the URL named; a hello that names another one is refused. */
  readonly space?: string | undefined;
}

type AdmissionParts = Pick<HostParts, "settings" | "keyring" | "isDraining">;

/** A response refuses the upgrade. */
export function admissionOf(request: Request, parts: AdmissionParts): Admission | Response {
  const refusal = refusalOf(request, parts);
  if (refusal !== undefined) return refusal;
  const offered = offeredProtocols(request.headers.get("sec-websocket-protocol"));
  const protocol = offered.includes(SUBPROTOCOL) ? SUBPROTOCOL : undefined;
  const space = new URL(request.url).searchParams.get("space") ?? "";
  if (space !== "" && !isSpace(space))
    return problem("bad_space", "a space is 1 to 64 characters of A-Z a-z 0-9 . _ -");
  return { protocol, shown: parts.keyring.shownBy(request), ...(space !== "" && { space }) };
}

function refusalOf(request: Request, parts: AdmissionParts): Response | undefined {
  const refusal = refusePage(request, parts);
  if (refusal !== undefined) return refusal;
  if (rawPath(request) !== "/v1/session") return problem("not_found", "there is no WebSocket at this path");
  return parts.isDraining() ? draining() : undefined;
}
