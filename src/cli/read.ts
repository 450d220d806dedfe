/** How the value of a variable is read, or refused with what was expected. */

import { formatDuration, parseDuration } from "./duration.ts";

/** Says what was expected, after the variable's name, and gives nothing back. */
export type Fail = (expected: string) => undefined;

export type Parse<T> = (text: string, fail: Fail) => T | undefined;

/** The variable of that name, or the fallback where it is not set or wrong. */
export type Read = <T, F>(name: string, fallback: F, parse: Parse<T>) => T | F;

export function duration(minMs: number, maxMs: number): Parse<number> {
  const range = `from ${formatDuration(minMs)} to ${formatDuration(maxMs)}`;
  return (text, fail) => {
    const ms = parseDuration(text);
    if (ms !== undefined && ms >= minMs && ms <= maxMs) return ms;
    return fail(`must be a duration ${range}, such as 500ms, 30s or 5m; a bare number counts ms`);
  };
}

export function oneOf<T extends string>(...words: readonly T[]): Parse<T> {
  return (text, fail) => words.find((word) => word === text) ?? fail(`must be ${words.join(" or ")}`);
}
