/** Names: any string, compared code unit by code unit, and given back as it came. */

import { check, same } from "./check.ts";
import type { Case, GrantedLock, Trial } from "./trial.ts";

/** Every one of them is held at the same time as the others, and comes back in the lock and in a snapshot as it was given. */
function keptApart(name: string, names: (t: Trial) => readonly string[]): Case {
  return {
    name,
    async run(t) {
      for (const one of names(t)) {
        const lock = await (await t.held(one)).granted;
        check(lock.name === one, `the name of the lock is ${JSON.stringify(one)}; it is ${JSON.stringify(lock.name)}`);
      }
      const { held } = await t.locks.query();
      for (const one of names(t)) {
        check(
          held.some((entry) => entry.name === one),
          `${JSON.stringify(one)} is in the snapshot`,
        );
      }
    },
  };
}

/** The same names each time they are asked for, and no other case's. */
function oneStem(names: (stem: string) => readonly string[]): (t: Trial) => readonly string[] {
  let stem: string | undefined;
  return (t) => names((stem ??= t.name("n")));
}

export const nameCases: readonly Case[] = [
  {
    name: "names: the empty one is a name",
    async run(t) {
      same(await t.locks.request("", (lock: GrantedLock) => lock.name), "", "the name");
      const holder = await t.held("");
      check(!(await t.isFree("")), "it is held");
      await holder.done();
    },
  },
  keptApart(
    "names: a NUL is a character like any other",
    oneStem((stem) => [`${stem}a`, `${stem}a\0`, `${stem}a\0b`, `${stem}\0a`, `\0${stem}`]),
  ),
  keptApart(
    "names: a lone surrogate is neither a replacement character nor another one",
    oneStem((stem) => [`${stem}\ud800`, `${stem}\udc00`, `${stem}\ud801`, `${stem}\ufffd`, `\ud800${stem}`]),
  ),
  keptApart(
    "names: surrogates in the wrong order are no pair",
    oneStem((stem) => [`${stem}\u{1f512}`, `${stem}\udd12\ud83d`, `${stem}\ud83d`]),
  ),
  keptApart(
    "names: forms that look alike are not made one",
    oneStem((stem) => [`${stem}\u00e9`, `${stem}e\u0301`, `${stem}\ufb01`, `${stem}fi`]),
  ),
  keptApart(
    "names: capitals are other letters",
    oneStem((stem) => [`${stem}key`, `${stem}KEY`, `${stem}Key`]),
  ),
  keptApart(
    "names: spaces count",
    oneStem((stem) => [stem, ` ${stem}`, `${stem} `, `${stem}\n`, `${stem}\u00a0`]),
  ),
  keptApart(
    "names: the beginning of a name is another name",
    oneStem((stem) => [stem, `${stem}/`, `${stem}/a`, `${stem}/ab`]),
  ),
  {
    name: "names: words that mean something to objects mean nothing here",
    async run(t) {
      for (const name of ["__proto__", "constructor", "toString", "hasOwnProperty", "null", "."]) {
        same(await t.locks.request(name, (lock: GrantedLock) => lock.name), name, "the name");
      }
    },
  },
  {
    name: "names: what reads like a path, a query or an escape is taken as it is",
    async run(t) {
      for (const name of ["a/b", "a%2Fb", "a%", "?a=b", "#a", "..", "\\", '"', "a{b}"]) {
        const holder = await t.held(name);
        same((await t.seen(name)).held, ["exclusive"], "who holds");
        await holder.done();
      }
    },
  },
];
