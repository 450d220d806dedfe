/** What the page `web-locks` can be asked for. */

export interface LocksCalls {
  /** Runs one case; resolves with what is wrong, or with the empty text. `native`: against the browser's own locks. */
  run(name: string, native: boolean): Promise<string>;
}
