/** The arguments of `request`: what is wrong with them is a rejection, and which one follows an order. */

import { check, domException, rejection, same, typeError } from "./check.ts";
import type { Case, GrantedLock, Trial } from "./trial.ts";

const nothing = (): void => undefined;

/** A case whose every call is refused with a TypeError, and leaves the name free. */
function refusedAsType(name: string, calls: (name: string) => readonly (readonly unknown[])[]): Case {
  return {
    name,
    async run(t) {
      const key = t.name();
      for (const call of calls(key)) await typeError(t.locks.request(...call));
      check(await t.isFree(key), "a refused request takes no lock");
    },
  };
}

/** A case whose every call is refused with a NotSupportedError, and whose callback never runs. */
function notSupported(name: string, calls: (t: Trial) => readonly (readonly unknown[])[]): Case {
  return {
    name,
    async run(t) {
      let ran = false;
      const callback = (): void => {
        ran = true;
      };
      for (const call of calls(t)) await domException(t.locks.request(...call, callback), "NotSupportedError");
      await t.turn();
      check(!ran, "the callback of a refused request never runs");
    },
  };
}

const inTypes: readonly Case[] = [
  refusedAsType("without any argument the request is a TypeError", () => [[]]),
  refusedAsType("a name alone is a TypeError", (name) => [[name]]),
  refusedAsType("of two arguments the second must be a function", (name) => [
    [name, undefined],
    [name, null],
    [name, {}],
    [name, "callback"],
    [name, 5],
    [name, true],
  ]),
  refusedAsType("of three arguments the third must be a function", (name) => [
    [name, {}, undefined],
    [name, {}, null],
    [name, {}, {}],
    [name, nothing, "callback"],
  ]),
  refusedAsType("options must be an object", (name) => [
    [name, "exclusive", nothing],
    [name, 5, nothing],
    [name, true, nothing],
    [name, Symbol("options"), nothing],
  ]),
  refusedAsType("a mode is exclusive or shared, in these letters", (name) => [
    [name, { mode: "neither" }, nothing],
    [name, { mode: "EXCLUSIVE" }, nothing],
    [name, { mode: "" }, nothing],
    [name, { mode: {} }, nothing],
  ]),
  refusedAsType("a mode of null is no mode", (name) => [[name, { mode: null }, nothing]]),
  refusedAsType("a signal must be an AbortSignal", (name) => [
    [name, { signal: "signal" }, nothing],
    [name, { signal: { aborted: false } }, nothing],
    [name, { signal: new AbortController() }, nothing],
    [name, { signal: new EventTarget() }, nothing],
  ]),
  refusedAsType("a signal of null is no signal", (name) => [[name, { signal: null }, nothing]]),
  refusedAsType("a symbol is no name", () => [[Symbol("name"), nothing]]),
];

const conversions: readonly Case[] = [
  {
    name: "null and undefined stand for no options",
    async run(t) {
      for (const options of [null, undefined]) {
        const name = t.name();
        same(await t.locks.request(name, options, (lock: GrantedLock) => lock.mode), "exclusive", "the mode");
      }
    },
  },
  {
    name: "a function in the place of the options is an object without options",
    async run(t) {
      same(await t.locks.request(t.name(), nothing, () => "ran"), "ran", "the result");
    },
  },
  {
    name: "members that are no options mean nothing",
    async run(t) {
      same(await t.locks.request(t.name(), { timeout: 0, mood: "shared" }, () => "ran"), "ran", "the result");
    },
  },
  {
    name: "an undefined member is an absent one",
    async run(t) {
      const options = { mode: undefined, ifAvailable: undefined, steal: undefined, signal: undefined };
      same(await t.locks.request(t.name(), options, (lock: GrantedLock) => lock.mode), "exclusive", "the mode");
    },
  },
  {
    name: "a mode is made a string",
    async run(t) {
      const mode = { toString: () => "shared" };
      same(await t.locks.request(t.name(), { mode }, (lock: GrantedLock) => lock.mode), "shared", "the mode");
    },
  },
  {
    name: "ifAvailable and steal are taken by their truth",
    async run(t) {
      const name = t.name();
      const holder = await t.held(name, { ifAvailable: 0, steal: "" });
      same(await t.locks.request(name, { ifAvailable: "yes" }, (lock: unknown) => lock), null, "the lock");
      const thief = await t.held(name, { steal: 1 });
      await domException(holder.result, "AbortError");
      await thief.done();
    },
  },
  {
    name: "a name is made a string",
    async run(t) {
      const unlikely = { toString: () => unlikelyName };
      const unlikelyName = t.name();
      for (const [given, made] of [
        [unlikely, unlikelyName],
        [12.5, "12.5"],
        [null, "null"],
        [undefined, "undefined"],
        [["a", "b"], "a,b"],
      ] as const) {
        same(await t.locks.request(given, (lock: GrantedLock) => lock.name), made, "the name");
      }
    },
  },
  {
    name: "what a name throws when it is made a string is the rejection",
    async run(t) {
      const error = new Error("no name");
      const name = {
        toString() {
          throw error;
        },
      };
      same(await rejection(t.locks.request(name, nothing)), error, "the reason");
    },
  },
  {
    name: "what a member of the options throws is the rejection",
    async run(t) {
      const error = new Error("no signal");
      const options = {
        get signal() {
          throw error;
        },
      };
      same(await rejection(t.locks.request(t.name(), options, nothing)), error, "the reason");
    },
  },
  {
    name: "options are read once, in the order of their names",
    async run(t) {
      const read: string[] = [];
      const options = new Proxy({}, { get: (_, member) => void read.push(String(member)) });
      await t.locks.request(t.name(), options, nothing);
      same(read, ["ifAvailable", "mode", "signal", "steal"], "what was read");
    },
  },
];

const inOrder: readonly Case[] = [
  notSupported("a name that starts with - is not supported", () => [["-"], ["-name"], ["--"]]),
  {
    name: "a name may have a - anywhere else, and what only looks like one anywhere",
    async run(t) {
      for (const start of ["x-", " -", "\u2010", "\u2212", "\uff0d", "\0-"]) {
        const name = t.name(start);
        same(await t.locks.request(name, (lock: GrantedLock) => lock.name), name, "the name");
      }
    },
  },
  notSupported("steal together with ifAvailable is not supported", (t) => [
    [t.name(), { steal: true, ifAvailable: true }],
  ]),
  notSupported("steal of a shared lock is not supported", (t) => [[t.name(), { steal: true, mode: "shared" }]]),
  notSupported("a signal together with steal is not supported", (t) => [
    [t.name(), { steal: true, signal: t.controller().signal }],
  ]),
  notSupported("a signal together with ifAvailable is not supported", (t) => [
    [t.name(), { ifAvailable: true, signal: t.controller().signal }],
  ]),
  notSupported("what is not supported comes before a signal that is aborted", (t) => [
    ["-", { signal: AbortSignal.abort() }],
    [t.name(), { steal: true, signal: AbortSignal.abort() }],
    [t.name(), { ifAvailable: true, signal: AbortSignal.abort() }],
  ]),
  refusedAsType("a wrong type comes before what is not supported", () => [
    ["-"],
    ["-", {}],
    ["-", { mode: "neither" }, nothing],
    ["-", { steal: true, ifAvailable: true }, undefined],
  ]),
  refusedAsType("a wrong type comes before a signal that is aborted", (name) => [
    [name, { signal: AbortSignal.abort(), mode: "neither" }, nothing],
    [name, { signal: AbortSignal.abort() }, undefined],
  ]),
  {
    name: "false members are no contradiction",
    async run(t) {
      const { signal } = t.controller();
      const options = { signal, steal: false, ifAvailable: false, mode: "shared" };
      same(await t.locks.request(t.name(), options, () => "ran"), "ran", "the result");
    },
  },
  {
    name: "a request never throws: it answers with a promise",
    async run(t) {
      const calls = [
        [],
        ["-", nothing],
        [t.name(), { mode: 1 }, nothing],
        [t.name(), { signal: AbortSignal.abort() }, nothing],
      ];
      for (const call of calls) await rejection(t.locks.request(...call));
    },
  },
];

export const argumentCases: readonly Case[] = [...inTypes, ...conversions, ...inOrder];
