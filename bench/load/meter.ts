/** What goes over the wire for each grant, in the turns that count. */

import { passedBytes } from "../servers/proc.ts";

interface Grants {
  readonly grantCount: number;
}

interface Reading {
  readonly bytes: number;
  readonly grants: number;
}

export class Meter {
  readonly #passedBytes: () => number | undefined;
  #began: Reading | undefined;
  #bytes = 0;
  #grants = 0;

  constructor(passed: () => number | undefined = passedBytes) {
    this.#passedBytes = passed;
  }

  begin(grants: Grants): void {
    this.#began = this.#read(grants);
  }

  /** Also what was under way when the turn's time was over belongs to it, with its bytes. */
  end(grants: Grants): void {
    const now = this.#read(grants);
    if (now === undefined || this.#began === undefined) return;
    this.#bytes += now.bytes - this.#began.bytes;
    this.#grants += now.grants - this.#began.grants;
  }

  /** The turns so far do not count. */
  forget(): void {
    this.#bytes = 0;
    this.#grants = 0;
  }

  /** Null where nothing passed, or nobody can tell. */
  bytesPerGrant(): number | null {
    return this.#bytes === 0 || this.#grants === 0 ? null : this.#bytes / this.#grants;
  }

  #read({ grantCount }: Grants): Reading | undefined {
    const bytes = this.#passedBytes();
    return bytes === undefined ? undefined : { bytes, grants: grantCount };
  }
}
