/** The core: one space's locks as a pure machine. Imports nothing from outside. */

export { isSameRequest } from "./acquire.ts";
export type { Acquire, Command } from "./command.ts";
export type { By, ClaimSnapshot, Effect, Holder, KeyStatus, RefusalCode } from "./effect.ts";
export { Engine, type EngineCounts, type EngineOptions } from "./engine.ts";
export { type ClaimEvent, drawLifecycle, LIFECYCLE } from "./lifecycle.ts";
export { DEFAULT_LIMITS, type EngineLimits } from "./limits.ts";
export { Outbox } from "./outbox.ts";
export type { ClaimRecord, Image, SessionRecord } from "./record.ts";
