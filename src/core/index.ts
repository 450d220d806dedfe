/** The core: one space's locks as a pure machine. Imports nothing from outside. */

export { isSameRequest } from "./acquire.ts";
export type { Acquire, Command, LockCommand } from "./command.ts";
export type { By, ClaimSnapshot, Effect, Holder, KeyStatus, RefusalCode } from "./effect.ts";
export { Engine, type EngineCounts, type EngineOptions } from "./engine.ts";
export { type ClaimEvent, drawLifecycle, LIFECYCLE } from "./lifecycle.ts";
export { DEFAULT_LIMITS, type EngineLimits } from "./limits.ts";
export { isSameBegin } from "./idempotency/begun.ts";
export {
  DEFAULT_LEDGER_LIMITS,
  LEASE_DEFAULT_MS,
  LEASE_MAX_MS,
  LEASE_MIN_MS,
  type LedgerLimits,
  RECORD_TTL_DEFAULT_MS,
  RECORD_TTL_MAX_MS,
  RECORD_TTL_MIN_MS,
} from "./idempotency/limits.ts";
export { isAboutRecord, Machine, type MachineCounts, type MachineOptions } from "./machine.ts";
export { Outbox } from "./outbox.ts";
export type { Change, ClaimRecord, Image, SessionRecord, SpaceImage } from "./record.ts";
export type { Begin, IdempotencyCommand, RecordCommand } from "./idempotency/command.ts";
export type { IdempotencyEffect, RecordStatusTold } from "./idempotency/effect.ts";
export type { RecordImage, WaiterImage } from "./idempotency/record.ts";
