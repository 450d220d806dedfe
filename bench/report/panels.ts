/** Which lines share a picture: all subjects in one would be a tangle. */

import { isFloor } from "./colors.ts";

export interface Panel {
  /** Empty: there is but one. */
  readonly title: string;
  readonly subjects: readonly string[];
}

/** So many lines can still be told from one another. */
const LINES_MAX = 8;

/** Fewer stand with the others of ours. */
const WAYS_IN_MIN = 3;

/** It stands in every picture, to be compared with. */
const REFERENCE = "bun ws-raw";

const OUR_WAYS_IN = /^(?:bun|deno|node|workerd) (?:ws|http|in-process)$/;

export function panelsOf(subjects: readonly string[]): readonly Panel[] {
  if (subjects.length <= LINES_MAX) return [{ title: "", subjects }];
  const ownPanel = subjects.filter((subject) => OUR_WAYS_IN.test(subject)).length >= WAYS_IN_MIN;
  const panels: readonly Panel[] = [
    {
      title: "Latchkey and the floors",
      subjects: subjects.filter((subject) => isRaw(subject) || (!ownPanel && isWayIn(subject))),
    },
    {
      title: "Latchkey through its clients",
      subjects: ownPanel ? subjects.filter((subject) => subject === REFERENCE || isWayIn(subject)) : [],
    },
    { title: "Latchkey on Bun, and others", subjects: subjects.filter(isBesideOthers) },
  ];
  const drawn = panels.filter((panel) => panel.subjects.some((subject) => subject !== REFERENCE && !isFloor(subject)));
  return drawn.length === 1 ? [{ title: "", subjects }] : drawn;
}

function isRaw(subject: string): boolean {
  return / (?:ws-raw|hand-over)$/.test(subject) || (isFloor(subject) && !subject.startsWith("mutex "));
}

function isWayIn(subject: string): boolean {
  return OUR_WAYS_IN.test(subject) || subject.startsWith("mutex ");
}

/** With the one of ours that has the same floor. */
function isBesideOthers(subject: string): boolean {
  if (isFloor(subject)) return /^(?:relay|echo) on bun$/.test(subject);
  return subject === REFERENCE || !(isRaw(subject) || isWayIn(subject));
}
