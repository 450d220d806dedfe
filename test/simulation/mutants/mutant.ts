/** A bug to be planted in the core: the simulation must notice it. */
export interface Mutant {
  /** What is wrong then, in words. */
  readonly bug: string;
  /** Of src/core. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}
