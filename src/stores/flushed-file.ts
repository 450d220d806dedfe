/** Has the disk write a file that SQLite writes, by another thread: whoever is served meanwhile waits for nothing. */

import { closeSync, fdatasync, linkSync, openSync, renameSync, rmSync, write } from "node:fs";

export interface FlushedFile {
  /** Zeros, in place of its first bytes. Rejects when that failed. */
  blank(bytes: number): Promise<void>;
  /** What was written to it before this call survives a power cut when it resolves. Rejects when the disk failed. */
  flush(): Promise<void>;
  /** Has its name also after `work`, which may take it away. */
  keep(work: () => void): void;
  /** Only after SQLite has closed it, and not while it is being flushed. A second time does nothing. */
  close(): void;
}

/**
 * The file is opened once: to close any descriptor of a file lets go of all locks that this process has on it (POSIX), SQLite's as
 * well.
 */
export function flushedFile(path: string): FlushedFile {
  // Some systems flush only what they may write.
  const descriptor = openSync(path, "r+");
  let isOpen = true;
  return {
    blank: (bytes) =>
      new Promise((resolve, reject) => {
        write(descriptor, new Uint8Array(bytes), 0, bytes, 0, (error) => (error ? reject(error) : resolve()));
      }),
    flush: () =>
      new Promise((resolve, reject) => {
        fdatasync(descriptor, (error) => (error ? reject(error) : resolve()));
      }),
    keep(work) {
      const second = `${path}-kept`;
      rmSync(second, { force: true });
      linkSync(path, second);
      work();
      renameSync(second, path);
    },
    close() {
      if (isOpen) closeSync(descriptor);
      isOpen = false;
    },
  };
}
