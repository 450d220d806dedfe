/** The core: one space's locks as a pure machine. Imports nothing from outside. */

export type { Acquire, Command, Mode } from "./command.ts";
export type { By, ClaimSnapshot, Effect, Holder, KeyStatus, RefusalCode } from "./effect.ts";
export { Engine, type EngineCounts, type EngineOptions } from "./engine.ts";
export { type ClaimEvent, type ClaimState, drawLifecycle, LIFECYCLE, type Outcome } from "./lifecycle.ts";
export { DEFAULT_LIMITS, type EngineLimits, type LimitName } from "./limits.ts";
export { Outbox } from "./outbox.ts";
export type { Change, ClaimRecord, Image, NestRecord, SessionRecord } from "./record.ts";
