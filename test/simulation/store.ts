import type { Change, ClaimRecord, NestRecord, SessionRecord, SpaceImage } from "../../src/core/record.ts";
import { isEqual, show } from "./equal.ts";
import { LedgerStore } from "./ledger-store.ts";
import type { ModelClaim } from "./model-space.ts";
import type { Random } from "./random.ts";

/**
 * A store that survives what its servers do not. It keeps copies, so that nothing a running engine does can reach what
 * was committed.
 */
export class Store {
  /** No start may give out a number up to this one again. */
  reserved = 0;
  readonly ledger = new LedgerStore();
  readonly #claims = new Map<number, ClaimRecord>();
  readonly #sessions = new Map<string, SessionRecord>();
  /** The pairs that were found equal at the last check, so that only what changed is compared. */
  #checked = new Map<ModelClaim, ClaimRecord>();

  commit(changes: readonly Change[], serial: number, block: number): void {
    if (serial > this.reserved) this.reserved = serial + block;
    for (const change of changes) {
      switch (change.kind) {
        case "claim":
          this.#claims.set(change.claim.ticket, copyClaim(change.claim));
          break;
        case "claim_forgotten":
          this.#claims.delete(change.ticket);
          break;
        case "session":
          this.#sessions.set(change.session.id, copySession(change.session));
          break;
        case "session_gone":
          this.#sessions.delete(change.session);
          break;
        default:
          this.ledger.commit(change);
      }
    }
  }

  get count(): number {
    return this.#claims.size + this.#sessions.size + this.ledger.count;
  }

  /** All that is stored, in no order: a store promises none. */
  load(random: Random): SpaceImage {
    return {
      claims: random.shuffled([...this.#claims.values()]),
      sessions: random.shuffled([...this.#sessions.values()]),
      ...this.ledger.load(random),
    };
  }

  /** What differs between this store and what the model expects in it; undefined when nothing does. */
  difference(claims: readonly ModelClaim[], sessions: readonly SessionRecord[]): string | undefined {
    const checked = new Map<ModelClaim, ClaimRecord>();
    for (const expected of claims) {
      const actual = this.#claims.get(expected.ticket);
      if (actual === undefined) return `claim ${expected.ticket} is not stored: ${show(expected)}`;
      if (this.#checked.get(expected) !== actual) {
        const known = new Set(sessions.map((session) => session.id));
        const [left, right] = [comparable(expected, known), comparable(actual, known)];
        if (!isEqual(left, right)) return `stored claim\n  expected ${show(left)}\n  actual   ${show(right)}`;
      }
      checked.set(expected, actual);
    }
    this.#checked = checked;
    if (this.#claims.size !== claims.length) {
      const expected = new Set(claims.map((claim) => claim.ticket));
      const extra = [...this.#claims.keys()].filter((ticket) => !expected.has(ticket));
      return `claims are stored that should not be: tickets ${show(extra)}`;
    }
    for (const expected of sessions) {
      const actual = this.#sessions.get(expected.id);
      if (!isEqual(expected, actual)) return `stored session\n  expected ${show(expected)}\n  actual   ${show(actual)}`;
    }
    if (this.#sessions.size !== sessions.length) return "sessions are stored that are over";
    return undefined;
  }
}

/** What must agree. What a claim no longer or not yet uses may be anything. */
function comparable(claim: ClaimRecord, sessions: ReadonlySet<string>): Partial<ClaimRecord> {
  const { ticket, asked, state, deadline, fence } = claim;
  const { ttlMs, depth, unnested } = claim;
  const session = claim.session !== undefined && sessions.has(claim.session) ? claim.session : undefined;
  const always = { ticket, asked: withoutUnset(asked), session, state, deadline, fence, ttlMs };
  if (state === "waiting") return { ...always, ask: claim.ask };
  if (state === "gone") return { ...always, outcome: claim.outcome, by: claim.by, abandoned: claim.abandoned };
  return { ...always, grantedAt: claim.grantedAt, depth, nested: claim.nested ?? [], unnested };
}

/** A flag that is false says the same as none. */
function withoutUnset(asked: ClaimRecord["asked"]): ClaimRecord["asked"] {
  const set = Object.entries(asked).filter(([name, value]) => value !== false || name === "session");
  return Object.fromEntries(set) as unknown as ClaimRecord["asked"];
}

function copyClaim(claim: ClaimRecord): ClaimRecord {
  return {
    ticket: claim.ticket,
    asked: { ...claim.asked },
    session: claim.session,
    state: claim.state,
    deadline: claim.deadline,
    fence: claim.fence,
    grantedAt: claim.grantedAt,
    ttlMs: claim.ttlMs,
    depth: claim.depth,
    outcome: claim.outcome,
    by: claim.by && { ...claim.by },
    nested: claim.nested?.map(copyNest),
    unnested: claim.unnested && copyNest(claim.unnested),
    ask: claim.ask && { ...claim.ask },
    abandoned: claim.abandoned,
  };
}

function copyNest(nest: NestRecord): NestRecord {
  return { from: nest.from, request: nest.request, depth: nest.depth };
}

function copySession(session: SessionRecord): SessionRecord {
  const { id, secret, graceMs, meta, user, order, deadline } = session;
  return { id, secret, graceMs, meta, user, order, deadline };
}
