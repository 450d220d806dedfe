/** What is used of Cloudflare's runtime, as far as no other runtime has it. Structural, so that nobody needs its types. */

import { CLOSE } from "../protocol/close.ts";
import type { ObjectStorage } from "../stores/durable-object.ts";

export interface WorkerSocket {
  /** 1: open, 2: closing, 3: closed. */
  readonly readyState: number;
  /** `blob` by default since 2026-03, which is no frame that could be passed on. */
  binaryType: string;
  accept(): void;
  send(data: string | ArrayBuffer): void;
  close(code?: number, reason?: string): void;
  addEventListener(type: string, listener: (event: SocketEvent) => void): void;
  /** At most 16 384 bytes. Lives as long as the socket, also while the object sleeps. */
  serializeAttachment(value: unknown): void;
  deserializeAttachment(): unknown;
}

/** Of a message: data. Of a close: code and reason. */
export interface SocketEvent {
  readonly data: string | ArrayBuffer;
  readonly code: number;
  readonly reason: string;
}

export interface ObjectContext {
  readonly id: { readonly name?: string | undefined };
  readonly storage: ObjectStorage & {
    getAlarm(): Promise<number | null>;
    setAlarm(at: number): Promise<void>;
    deleteAlarm(): Promise<void>;
  };
  acceptWebSocket(socket: WorkerSocket, tags: string[]): void;
  getWebSockets(): WorkerSocket[];
  getTags(socket: WorkerSocket): string[];
  setWebSocketAutoResponse(pair: unknown): void;
  getWebSocketAutoResponseTimestamp(socket: WorkerSocket): Date | null;
  blockConcurrencyWhile<T>(work: () => Promise<T>): Promise<T>;
}

/** A binding to a class of Durable Objects. */
export interface ObjectNamespace<Stub> {
  getByName(name: string, options?: { readonly locationHint?: string }): Stub;
}

/** A response that hands over a socket, and what `fetch` gives for an upgrade. */
export type UpgradeResponse = Response & { readonly webSocket?: WorkerSocket | null };

interface Globals {
  readonly WebSocketPair: new () => { readonly 0: WorkerSocket; readonly 1: WorkerSocket };
  readonly WebSocketRequestResponsePair: new (request: string, response: string) => object;
}

export function socketPair(): readonly [client: WorkerSocket, server: WorkerSocket] {
  const pair = new (globalThis as unknown as Globals).WebSocketPair();
  return [pair[0], pair[1]];
}

/** Answers every message that is exactly `request`, without waking the object. */
export function autoResponse(request: string, response: string): object {
  return new (globalThis as unknown as Globals).WebSocketRequestResponsePair(request, response);
}

/** Quietly: a code that only reports how a connection ended (1005, 1006) is an error to send, and so is a second close. */
export function closeSocket(socket: WorkerSocket, code: number, reason: string): void {
  const isSendable = code >= 1000 && code < 5000 && code !== 1004 && code !== 1005 && code !== 1006 && code !== 1015;
  try {
    socket.close(isSendable ? code : CLOSE.goingAway, reason);
  } catch {
    // It is closed already.
  }
}

export function upgraded(client: WorkerSocket, protocol: string | undefined): Response {
  const headers = protocol === undefined ? undefined : { "sec-websocket-protocol": protocol };
  return new Response(null, { status: 101, webSocket: client, ...(headers && { headers }) } as ResponseInit);
}
