/** What the page `life` can be asked for. */

export interface LifeCalls {
  /** Takes the lock; resolves with its fence, or with the code of the error. */
  acquire(key: string, timeout?: number): Promise<number | string>;
  /** Begins to wait for the lock. */
  wait(key: string): void;
  /** How that wait stands: `waiting`, a fence, or the code of the error. */
  waited(key: string): number | string;
  watch(key: string): void;
  /** What the page shows of a key that it watches. */
  watched(key: string): { readonly isCurrent: boolean; readonly holders: number };
  isHeld(key: string): boolean;
  lossOf(key: string): Promise<string>;
  session(): Promise<string | undefined>;
  connection(): string;
  /** What the page has heard so far, oldest first. */
  heard(): readonly Heard[];
  /** How often a timer of 100 ms has run. */
  ticks(): number;
  /** All that a copy of this tab would take with it. */
  remembered(): Promise<string>;
}

/** What a listener of the page saw. */
export interface Heard {
  readonly type: string;
  readonly persisted?: boolean;
  /** Keys of the locks whose signal said then that they were held. */
  readonly held: readonly string[];
  /** By the page's wall clock, ms. */
  readonly at: number;
}
