/** Locks for any JavaScript runtime: a session over a WebSocket. Over plain HTTP: `latchkey/client/http`. */

export { type Client, connect, type ConnectOptions, type ReconnectOptions, type StealOptions } from "./connect.ts";
export type { Contended, ContendedListener } from "./contention.ts";
export {
  AccessDeniedError,
  type By,
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
  Waiting,
} from "./locks.ts";
export type { Auth, WebSocketConstructor, WebSocketLike } from "./session-socket.ts";
export type { ConnectionStatus } from "./session-types.ts";
export type { AccessAsk, KeyHolder, KeyState, Watch, Watched, WatchListener, WatchOptions } from "./watch-types.ts";
export type { LatchLocks, WebLock, WebLockEntry, WebLockOptions, WebLockSnapshot } from "./web-locks/types.ts";
