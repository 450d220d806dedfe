/** The core: one space's locks as a pure machine. Imports nothing from outside. */

export { isSameRequest } from "./acquire.ts";
export type { Acquire, Command, LockCommand } from "./command.ts";
export type { By, ClaimSnapshot, Effect, Holder, KeyStatus, RefusalCode } from "./effect.ts";
export { Engine, type EngineCounts, type EngineOptions } from "./engine.ts";
export { type ClaimEvent, drawLifecycle, LIFECYCLE } from "./lifecycle.ts";
export { DEFAULT_LIMITS, type EngineLimits } from "./limits.ts";
export { Outbox } from "./outbox.ts";
export type { Change, ClaimRecord, Image, SessionRecord, SpaceImage } from "./record.ts";
export type {
  Begin,
  CancelBegin,
  Complete,
  ExtendAttempt,
  Fail,
  Forget,
  IdempotencyCommand,
  RecordCommand,
  RecordStatus,
} from "./idempotency/command.ts";
export type {
  AttemptExtended,
  AttemptLost,
  AttemptQueued,
  Completed,
  Failed,
  Forgotten,
  IdempotencyEffect,
  InProgress,
  LossReason,
  RecordStatusTold,
  RecordSummary,
  Replay,
  Started,
} from "./idempotency/effect.ts";
