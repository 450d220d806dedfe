/** Headers of ours, as browsers' `Headers` spell them. */

/** Shows the attempt where the body is something else. */
export const ATTEMPT_HEADER = "latchkey-attempt";
/** On a replay: the number of the attempt that completed it. */
export const ATTEMPT_NUMBER_HEADER = "latchkey-attempt-number";
/** On a replay: `true`. */
export const REPLAYED_HEADER = "idempotent-replayed";
