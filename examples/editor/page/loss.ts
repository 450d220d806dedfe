/** What a person is told when their lock has ended without them. */

import type { By, Loss } from "latchkey/client";
import { personOf } from "./people.ts";

/** As a title and a sentence. */
export function explain({ reason, by }: Loss): readonly [title: string, detail: string] {
  switch (reason) {
    case "stolen":
      return [`${nameOf(by)} took over`, by?.message ? `“${by.message}”` : "No reason was given."];
    case "dropped":
    case "expired":
      return ["This lock is lost.", "The connection broke, or the server heard nothing for too long."];
    case "revoked":
    case "released":
    case "cancelled":
    case "closed":
    case "unknown":
      return ["This lock is lost.", `The server says: ${reason}.`];
    default:
      return reason satisfies never;
  }
}

/** What the session of whoever took it says of itself. */
function nameOf(by: By | undefined): string {
  const name = (by?.meta as { readonly name?: unknown } | null | undefined)?.name;
  return personOf(typeof name === "string" ? name : undefined).name;
}
