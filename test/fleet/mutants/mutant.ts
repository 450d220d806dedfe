/** A bug to be planted in the script: the stories of the engine must not be told by it. */
export interface LuaMutant {
  /** What is wrong then, in words. */
  readonly bug: string;
  /** Occurs exactly once in the script. */
  readonly find: string;
  readonly replace: string;
  /** The seed of a story that shows it, where few do: this one is told first. */
  readonly seed?: number;
}
