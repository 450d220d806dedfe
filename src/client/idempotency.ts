/** A session client that runs idempotent work as well: `connect` with more in it, which a program without such work need not carry. */

import { type Ports, systemPorts } from "./clock.ts";
import type { Client, ConnectOptions } from "./connect.ts";
import type { Idempotency, IdempotencyCalls } from "./idempotency-calls.ts";
import { idempotent } from "./idempotent.ts";
import { SessionClient } from "./session-client.ts";
import { SessionIdempotency } from "./session-idempotency.ts";

export { fingerprintOf } from "./fingerprint.ts";
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
export {
  type AttemptLossReason,
  AttemptLostError,
  IdempotencyInProgressError,
  IdempotencyMismatchError,
} from "./idempotency-errors.ts";

export interface IdempotentClient extends Client, Idempotency {}

/** As `connect` of `latchkey/client`, with the same options. */
export function connect(url: string, options: ConnectOptions = {}, ports: Ports = systemPorts): IdempotentClient {
  const client = new SessionClient(url, options, ports, (link) => new SessionIdempotency(link));
  const at = <T>(key: string, ask: (calls: SessionIdempotency) => Promise<T>): Promise<T> =>
    client.at(key, ({ added }) => ask(added as SessionIdempotency));
  const idempotency: IdempotencyCalls = {
    begin: (key, begin) => at(key, (calls) => calls.begin(key, begin)),
    complete: (key, ...rest) => at(key, (calls) => calls.complete(key, ...rest)),
    fail: (key, attempt) => at(key, (calls) => calls.fail(key, attempt)),
    extend: (key, ...rest) => at(key, (calls) => calls.extend(key, ...rest)),
    forget: (key, attempt) => at(key, (calls) => calls.forget(key, attempt)),
  };
  const work: Idempotency = {
    idempotency,
    idempotent: (key, asked, run) => idempotent(idempotency, client.onError, key, asked, run),
  };
  return Object.assign(client, work);
}
