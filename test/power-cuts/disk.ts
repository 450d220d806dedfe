/**
 * A file on a disk that keeps no order: until it is flushed, a power cut leaves each sector as any of the writes to it has made it,
 * and the file as long as any of them has.
 */

const SECTOR = 512;

/** Which of so many versions a sector is found in, the oldest first. */
export type Choose = (count: number) => number;

interface Version<T> {
  /** Of the write that made it. */
  readonly step: number;
  readonly value: T;
}

export class DiskFile {
  #lengths: Version<number>[] = [{ step: 0, value: 0 }];
  readonly #sectors: Version<Buffer>[][] = [];
  /** Sectors that have more than one version. */
  readonly #open = new Set<number>();
  #step = 0;

  write(at: number, bytes: Buffer): void {
    this.#step += 1;
    for (let done = 0; done < bytes.length;) {
      const index = Math.floor((at + done) / SECTOR);
      const offset = at + done - index * SECTOR;
      const count = Math.min(SECTOR - offset, bytes.length - done);
      const sector = Buffer.from(this.#present(index));
      bytes.copy(sector, offset, done, done + count);
      this.#put(index, sector);
      done += count;
    }
    this.#grow(Math.max(this.length, at + bytes.length));
  }

  truncate(length: number): void {
    this.#step += 1;
    if (length % SECTOR !== 0) throw new Error("in the middle of a sector");
    for (let index = length / SECTOR; index * SECTOR < this.length; index++) this.#put(index, Buffer.alloc(SECTOR));
    this.#grow(length);
  }

  /** All of it or nothing; it is not made again. */
  remove(): void {
    this.#step += 1;
    this.#grow(0);
  }

  get length(): number {
    return this.#lengths.at(-1)?.value ?? 0;
  }

  /** How much of it is to be remembered when a flush that begins now has ended. */
  get step(): number {
    return this.#step;
  }

  /** A flush that was begun then has ended. */
  flushed(step: number): void {
    this.#lengths = since(this.#lengths, step);
    for (const index of this.#open) {
      const versions = since(this.#sectors[index] ?? [], step);
      this.#sectors[index] = versions;
      if (versions.length === 1) this.#open.delete(index);
    }
  }

  /** As it is found after a power cut. */
  cut(choose: Choose): Buffer {
    const length = this.#lengths[choose(this.#lengths.length)]?.value ?? 0;
    const found = Buffer.alloc(length);
    for (let index = 0; index * SECTOR < length; index++) {
      const versions = this.#sectors[index];
      if (versions === undefined) continue;
      const version = versions.length === 1 ? versions[0] : versions[choose(versions.length)];
      version?.value.copy(found, index * SECTOR);
    }
    return found;
  }

  #present(index: number): Buffer {
    return this.#sectors[index]?.at(-1)?.value ?? Buffer.alloc(SECTOR);
  }

  #put(index: number, value: Buffer): void {
    const versions = (this.#sectors[index] ??= [{ step: 0, value: Buffer.alloc(SECTOR) }]);
    versions.push({ step: this.#step, value });
    this.#open.add(index);
  }

  #grow(length: number): void {
    if (length !== this.length) this.#lengths.push({ step: this.#step, value: length });
  }
}

/** The last of those that were there at that step, and all after it. */
function since<T>(versions: Version<T>[], step: number): Version<T>[] {
  const first = versions.findLastIndex((version) => version.step <= step);
  return versions.slice(Math.max(0, first));
}
