import type { Claim } from "./claim.ts";
import type { Due } from "./deadlines.ts";
import type { SessionRecord } from "./record.ts";

/** One connection's identity, which may outlive the connection by its grace. */
export class Session implements SessionRecord, Due {
  readonly id: string;
  readonly secret: string;
  readonly graceMs: number;
  readonly meta: string | undefined;
  readonly user: string | undefined;
  readonly order: number;
  deadline: number = Number.POSITIVE_INFINITY;
  slot = -1;
  /** Its live and its remembered claims by request id, in ticket order. Made with the first: many sessions are silent. */
  requests: Map<string, Claim> | undefined = undefined;
  /** How many of them live. */
  liveCount = 0;
  /** Set while its claims end with it: from then on its request ids lead nowhere. */
  isEnding = false;

  constructor({ id, secret, graceMs, meta, user, order }: Omit<SessionRecord, "deadline">) {
    this.id = id;
    this.secret = secret;
    this.graceMs = graceMs;
    this.meta = meta;
    this.user = user;
    this.order = order;
  }
}
