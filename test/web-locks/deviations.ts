/** Where the platforms' own `navigator.locks` are known not to follow the standard: the names of the cases that they fail, as of these versions. */

/** 24.21 */
export const NODE: readonly string[] = [
  // The signal is looked at first.
  "what is not supported comes before a signal that is aborted",
  // Only a promise of its own kind is.
  "a thenable that the callback returns is waited for",
  // The rejection comes first.
  "a callback that throws lets the lock go",
  // It is, where the name is free.
  "the callback is not called before the request returns",
  // A reason of null becomes an AbortError.
  "signal: a wait ends with the reason of the abort",
  // It stays in the queue, and blocks it, until its turn comes.
  "signal: a wait that was ended is pending no more",
  "signal: shared ones behind an exclusive one that gave up are granted at once",
];

/** 2.9.6 */
export const DENO: readonly string[] = [
  // An object stays an object.
  "a name is made a string",
  "the callback is not called before the request returns",
  // It waits.
  "available: no shared lock beside shared ones when an exclusive one waits",
  // A reason of null becomes an AbortError.
  "signal: a wait ends with the reason of the abort",
  // It comes some turns later.
  "signal: the rejection comes in the turn of the abort",
  // They are with the next release.
  "signal: shared ones behind an exclusive one that gave up are granted at once",
];
