/** A soak in a terminal: a line for each interval, and what it comes to. */

import type { Drift, Row, SoakSample, Verdict } from "../harness/results.ts";
import type { SoakTurns } from "../harness/soak.ts";
import { number } from "./words.ts";

const NAME_WIDTH = 14;
const TITLES = [
  "MiB",
  "sessions",
  "keys",
  "holding",
  "waiting",
  "cycles/s",
  "cuts",
  "late p50 ms",
  "p99",
  "max",
  "own p99",
] as const;

export function soakPlanned({ intervals, intervalMs }: SoakTurns): string {
  return `soak: ${intervals} times ${clock(intervalMs)}, ${clock(intervals * intervalMs)} in all`;
}

export function soakHead(): string {
  return `\n${"time".padStart(9)}  ${"".padEnd(NAME_WIDTH)}  ${TITLES.join("  ")}`;
}

export function soakLine(subject: string, sample: SoakSample): string {
  const cells = soakCells(sample).map((cell, index) => cell.padStart(TITLES[index]?.length ?? 0));
  return `${clock(sample.atMs).padStart(9)}  ${subject.padEnd(NAME_WIDTH)}  ${cells.join("  ")}`;
}

function soakCells({ residentBytes, gauges, cyclesPerSecond, crashes, lateness, ownLateness }: SoakSample): string[] {
  return [
    residentBytes === undefined ? "" : mebibytes(residentBytes, 1),
    ...[gauges.sessions, gauges.keys, gauges.holding, gauges.waiting, cyclesPerSecond, crashes].map((count) =>
      number(count, 0),
    ),
    ...[lateness?.p50, lateness?.p99, lateness?.max, ownLateness?.p99].map((ns) => millis(ns)),
  ];
}

export function verdictLine(row: Row): string {
  const { subject, invalid } = row;
  return `${subject}: ${invalid === undefined ? verdictWords(row) : `INVALID, ${invalid}`}`;
}

/** Empty for what is no soak. */
export function verdictWords({ soak, figures }: Row): string {
  if (soak === undefined) return "";
  const { verdict, samples } = soak;
  return [
    memoryWords(verdict, samples),
    driftWords(verdict),
    `${figures?.violations ?? 0} violations`,
    `${number(figures?.grants, 0)} grants`,
    "nothing left behind",
  ].join("; ");
}

function memoryWords({ bytesPerHour, isGrowing }: Verdict, samples: readonly SoakSample[]): string {
  const [first, last] = [samples[0]?.residentBytes, samples.at(-1)?.residentBytes];
  if (first === undefined || last === undefined) return "memory unknown";
  const slope =
    // Of a short one, in which a server still fills what it remembers, it would be gigabytes.
    bytesPerHour === undefined || isGrowing === undefined
      ? ""
      : `, ${bytesPerHour < 0 ? "" : "+"}${mebibytes(bytesPerHour, 1)} MiB an hour in the second half`;
  const word = isGrowing === undefined ? "(too short to tell growth)" : isGrowing ? "GROWING" : "steady";
  return `memory ${word}, ${mebibytes(first, 1)} → ${mebibytes(last, 1)} MiB${slope}`;
}

function driftWords({ latenessNs, ownLatenessNs, early }: Verdict): string {
  if (latenessNs === undefined) return "no lease ended";
  const own = ownLatenessNs === undefined ? "" : `, and the load generator itself by ${arrow(ownLatenessNs)}`;
  return `leases end late by p99 ${arrow(latenessNs)} (first and last quarter)${own}; ${early} early`;
}

function arrow({ first, last }: Drift): string {
  return `${millis(first)} → ${millis(last)} ms`;
}

/** 1:05, or 2:01:05. */
export function clock(ms: number): string {
  const seconds = Math.round(ms / 1000);
  const hours = Math.floor(seconds / 3600);
  const parts = [...(hours > 0 ? [hours] : []), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part, index) => (index === 0 ? `${part}` : `${part}`.padStart(2, "0"))).join(":");
}

function mebibytes(bytes: number, digits: number): string {
  return number(bytes / 2 ** 20, digits);
}

function millis(ns: number | undefined): string {
  return ns === undefined ? "" : number(ns / 1e6, 2);
}
