/** Takes what sweeps have deleted out of the log and into the file, a little at a time, and when the disk is quick. */

import type { Clock } from "../host/ports.ts";
import type { SqlDriver, SqlStatement } from "./driver.ts";

/**
 * Carried over when the log has so many pages. The server stands still meanwhile, and waits for the disk twice and with the next
 * commit once more, whatever there is to carry over: with fewer pages a sweep waits more often, and 8000 take 100 ms.
 */
const GATHERED_PAGES = 32;
/** A disk that others keep busy lets everybody wait for 10 ms and more. This long it takes at most when it does not, ms. */
const QUICK_MS = 2;
/** So many calls of a sweep wait for a quick moment, which at the host's pace is 0.2 s. Some disks have none. */
const WAITS_MAX = 40;

export class CarryOver {
  readonly #clock: Clock;
  readonly #flush: () => Promise<void>;
  readonly #gathered: SqlStatement;
  readonly #carry: SqlStatement;
  #hasSwept = false;
  #isFlushing = false;
  #isQuick = false;
  #waits = 0;

  /**
   * `flush` has the disk write the log while the server goes on. It leaves SQLite less to wait for and shows how long that takes
   * now; SQLite sees for itself that all is written, so it may as well fail.
   */
  constructor(driver: SqlDriver, clock: Clock, flush: () => Promise<void>) {
    this.#clock = clock;
    this.#flush = flush;
    // Before SQLite 3.51 this is no question yet, and carries over what there is.
    this.#gathered = driver.prepare("PRAGMA wal_checkpoint(NOOP)");
    this.#carry = driver.prepare("PRAGMA wal_checkpoint(PASSIVE)");
  }

  /** Something was deleted. */
  swept(): void {
    this.#hasSwept = true;
  }

  /** Whether more can be deleted now. False: nothing is, and it is asked again with the next call. */
  isReady(): boolean {
    if (!this.#hasSwept || this.#gatheredPages() < GATHERED_PAGES) return true;
    if (!this.#isQuick && ++this.#waits <= WAITS_MAX) {
      if (!this.#isFlushing) this.#tryDisk();
      return false;
    }
    this.#carry.all();
    this.#hasSwept = false;
    this.#isQuick = false;
    this.#waits = 0;
    // The next commit begins the log anew, and waits for the disk once more: that is for the next call.
    return false;
  }

  #gatheredPages(): number {
    const [row] = this.#gathered.all();
    return Number(row?.["log"]) - Number(row?.["checkpointed"]);
  }

  #tryDisk(): void {
    this.#isFlushing = true;
    const begun = this.#clock.now();
    const learn = (isQuick: boolean): void => {
      this.#isFlushing = false;
      this.#isQuick = isQuick;
    };
    this.#flush().then(
      () => learn(this.#clock.now() - begun <= QUICK_MS),
      // Nothing is to be learned by waiting.
      () => learn(true),
    );
  }
}
