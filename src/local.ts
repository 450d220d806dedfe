/** A client in the server's own process: the interface of the remote one, over two ends in memory. */

import { systemPorts } from "./client/clock.ts";
import type { ConnectOptions } from "./client/connect.ts";
import { connect, type IdempotentClient } from "./client/idempotency.ts";
import type { WebSocketConstructor, WebSocketLike } from "./client/session-socket.ts";
import { nativeTimers } from "./host/alarm.ts";
import type { Admission, Host } from "./host/host.ts";
import type { Socket } from "./host/ports.ts";

export type LocalOptions = Pick<ConnectOptions, "space" | "meta" | "user" | "signal" | "onError" | "onStatus">;

export function connectLocal(host: Host, options: LocalOptions = {}): IdempotentClient {
  const WebSocket = localWebSocket(host);
  // A client that only waits must not keep its process alive: nobody but the process itself could end that wait.
  const timer: typeof systemPorts.timer = (ms, run) => {
    const id = nativeTimers.set(run, ms);
    return () => nativeTimers.clear(id);
  };
  return connect("ws://in-process", { ...options, WebSocket }, { ...systemPorts, timer });
}

/** Whoever runs in this process may do everything. */
const INSIDE: Admission = { protocol: undefined, shown: { name: "", permissions: ["steal", "operate"] } };

let socketCount = 0;

function localWebSocket(host: Host): WebSocketConstructor {
  return class implements WebSocketLike {
    onopen: ((event: never) => void) | null = null;
    onmessage: ((event: never) => void) | null = null;
    onclose: ((event: never) => void) | null = null;
    onerror: ((event: never) => void) | null = null;
    #isEnding = false;
    #isClosed = false;

    /**
     * The host's end. Each side hears of the other afterwards, never from within a call of its own. What the host says
     * comes in a turn of its own: with microtasks alone a loop of lock calls would let nothing else happen in the process.
     */
    readonly #peer: Socket = {
      id: `local-${++socketCount}`,
      buffered: 0,
      send: (text) => {
        if (this.#isEnding) return false;
        setImmediate(() => this.onmessage?.({ data: text } as never));
        return true;
      },
      close: (code) => this.#end(code),
    };

    constructor() {
      queueMicrotask(() => {
        if (this.#isEnding) return;
        // It cannot vanish without a close, and whoever blocks this process's events blocks both ends.
        host.opened(this.#peer, { admission: INSIDE, liveness: false });
        this.onopen?.({} as never);
      });
    }

    send(text: string): void {
      queueMicrotask(() => {
        if (!this.#isClosed) host.message(this.#peer, text);
      });
    }

    close(code = 1000): void {
      this.#end(code);
    }

    #end(code: number): void {
      if (this.#isEnding) return;
      this.#isEnding = true;
      // What was sent before, by either side, is heard before.
      setImmediate(() => {
        this.#isClosed = true;
        host.closed(this.#peer);
        this.onclose?.({ code } as never);
      });
    }
  };
}
