/** What the page `hold` can be asked for. */
export interface HoldCalls {
  /** Takes the lock; resolves with its fence. */
  acquire(key: string, timeout?: number): Promise<number>;
  isHeld(key: string): boolean;
  session(): Promise<string | undefined>;
}
