/** Starts crowds, and judges what they wrote: see crowd.ts. */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, vi } from "vitest";
import type { Probe } from "../../conformance/calm.ts";
import { Child } from "../../conformance/child.ts";

const PROGRAM = fileURLToPath(new URL("./crowd.ts", import.meta.url));
const INTERVAL_MS = 10;

interface Line {
  readonly what: string;
  readonly member: string;
  /** A position or a fence. */
  readonly number: number;
}

export interface CrowdOptions {
  readonly url: string;
  readonly name: string;
  readonly count: number;
  readonly key: string;
  readonly within?: readonly string[];
}

/** A crowd that goes on. */
export function isHere(crowd: Child): Probe {
  let count = 0;
  return async () => {
    count += 1;
    crowd.writeLine(`here ${count}`);
    await crowd.printed(new RegExp(`^here ${count}$`));
  };
}

export class Log {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  get lines(): readonly Line[] {
    const texts = readFileSync(this.#path, { encoding: "utf8", flag: "a+" }).split("\n").slice(0, -1);
    return texts.map((text) => {
      const [what = "", member = "", number = ""] = text.split(" ");
      if (what === "failed") throw new Error(text);
      return { what, member, number: Number(number) };
    });
  }

  /** Resolves when all of them are connected. */
  async crowd({ url, name, count, key, within = [] }: CrowdOptions): Promise<Child> {
    const child = new Child([...within, process.execPath, PROGRAM, url, name, `${count}`, key, this.#path]);
    await child.printed(/^ready$/);
    return child;
  }

  async until(what: string, count: number, timeout = 30_000): Promise<void> {
    await vi.waitFor(() => expect(this.count(what)).toBeGreaterThanOrEqual(count), { timeout, interval: INTERVAL_MS });
  }

  count(what: string): number {
    return this.lines.filter((line) => line.what === what).length;
  }

  /** No two held together, and every fence is above those before. */
  checkHoldings(): void {
    let holder: Line | undefined;
    let fenceMax = 0;
    for (const line of this.lines) {
      if (line.what === "queued") continue;
      if (line.what === "held") {
        if (holder !== undefined) expect.fail(`two hold it: ${JSON.stringify(holder)} and ${JSON.stringify(line)}`);
        expect(line.number).toBeGreaterThan(fenceMax);
        fenceMax = line.number;
        holder = line;
      } else {
        expect(line.number).toBe(holder?.number);
        holder = undefined;
      }
    }
    expect(holder).toBe(undefined);
  }

  /** Those whose server stayed had their turns in the order of their places, and the others too until `last` had its own. */
  checkOrder(staying: (member: string) => boolean, last: number): void {
    const places = new Map<string, number>();
    const turns: number[] = [];
    let isBefore = true;
    for (const { what, member, number } of this.lines) {
      if (what === "queued" && !places.has(member)) places.set(member, number);
      if (what !== "held") continue;
      if (isBefore || staying(member)) turns.push(places.get(member) ?? Number.NaN);
      if (number === last) isBefore = false;
    }
    expect(turns).toEqual(turns.toSorted((a, b) => a - b));
  }
}
