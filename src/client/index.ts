/** Locks for any JavaScript runtime: `connect` over a WebSocket session, `httpClient` over plain HTTP. */

export { type Client, connect, type ConnectOptions, type ReconnectOptions, type StealOptions } from "./connect.ts";
export type { Contended, ContendedListener } from "./contention.ts";
export {
  AccessDeniedError,
  type AttemptLossReason,
  AttemptLostError,
  type By,
  IdempotencyInProgressError,
  IdempotencyMismatchError,
  LatchkeyError,
  LimitError,
  LockLostError,
  LockTimeoutError,
  type Loss,
  type LossReason,
  RefusedError,
  SessionClosedError,
  UnavailableError,
} from "./errors.ts";
export { fingerprintOf } from "./fingerprint.ts";
export { type HttpAcquireOptions, type HttpClient, httpClient, type HttpOptions } from "./http-client.ts";
export type {
  Attempt,
  AttemptExtension,
  BeginOptions,
  Begun,
  Idempotency,
  IdempotencyCalls,
  IdempotentOptions,
  Replay,
  Started,
} from "./idempotency-calls.ts";
export type {
  AcquireOptions,
  Extension,
  Holder,
  KeyList,
  KeyStatus,
  ListOptions,
  Lock,
  Locks,
  LockSet,
  Mode,
  OnError,
  ReleaseResult,
} from "./locks.ts";
export type { Auth, WebSocketConstructor, WebSocketLike } from "./session-socket.ts";
export type { ConnectionStatus } from "./session-types.ts";
export type { AccessAsk, KeyHolder, KeyState, Watch, Watched, WatchListener, WatchOptions } from "./watch-types.ts";
