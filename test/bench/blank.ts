/** What a row tells when nothing happened in it. A test says what is different in its own. */

import type { Fairness, Figures } from "../../bench/load/job.ts";

export const NO_FAIRNESS: Fairness = {
  grants: [],
  jain: null,
  relativeDeviation: 0,
  maxByMin: null,
  starved: 0,
  selfShare: 0,
  returnsAfter: null,
  distinct: null,
  orderInversions: null,
  arrivalInversions: null,
};

export const NO_FIGURES: Figures = {
  handOff: null,
  cutHandOff: null,
  wait: null,
  fairness: null,
  violations: 0,
  grants: 0,
  bytesPerCycle: null,
  timeline: [],
  storm: null,
  reconnect: null,
  sendLateness: null,
};
