import type { ClaimSnapshot } from "latchkey/react";
import type { View } from "./react-view.ts";

/** What of a snapshot is JSON. */
export type Seen = Omit<ClaimSnapshot, "signal" | "error"> & { readonly isAborted: boolean | undefined };

/** What the page `react` can be asked for. */
export interface ReactCalls {
  /** Renders each view, one after the other, in one turn. */
  show(...views: View[]): void;
  seen(name: string): Seen | undefined;
  /** Every state that a part has shown, each once. */
  states(name: string): string[];
  acquire(name: string): void;
  release(name: string): Promise<void>;
  steal(name: string, reason: string): Promise<void>;
  requestAccess(name: string, message: string): Promise<void>;
  handTo(name: string, session: string): Promise<void>;
  text(id: string): string | undefined;
  session(): Promise<string | undefined>;
  /** What React complained of. */
  complaints(): string[];
}
