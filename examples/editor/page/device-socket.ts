/** A WebSocket on a device whose network can be cut and whose page can be frozen. */

import type { WebSocketConstructor, WebSocketLike } from "latchkey/client";

/** What a socket needs of its device. */
export interface Line {
  isCut(): boolean;
  /** Sockets that can be cut. */
  readonly cuts: Set<() => void>;
  /** Now, or as soon as scripts run again. */
  run(work: () => unknown): void;
  sent(): void;
  received(text: string): void;
}

const LOST = 1006;

export function socketOn(line: Line): WebSocketConstructor {
  return class implements WebSocketLike {
    onopen: ((event: never) => void) | null = null;
    onmessage: ((event: never) => void) | null = null;
    onclose: ((event: never) => void) | null = null;
    onerror: ((event: never) => void) | null = null;
    readonly #native: WebSocket | undefined;
    readonly #cut = (): void => this.#end(LOST);

    constructor(url: string, protocols: string[]) {
      if (line.isCut()) {
        setTimeout(this.#cut);
        return;
      }
      const native = new WebSocket(url, protocols);
      this.#native = native;
      line.cuts.add(this.#cut);
      native.onopen = (event) => line.run(() => this.onopen?.(event as never));
      native.onmessage = (event: MessageEvent<string>) => {
        line.run(() => {
          line.received(event.data);
          this.onmessage?.(event as never);
        });
      };
      native.onclose = ({ code }) => this.#end(code);
    }

    send(text: string): void {
      line.run(() => {
        if (this.#native?.readyState !== WebSocket.OPEN) return;
        line.sent();
        this.#native.send(text);
      });
    }

    close(code?: number): void {
      this.#native?.close(code);
    }

    #end(code: number): void {
      line.cuts.delete(this.#cut);
      if (this.#native !== undefined) this.#native.onclose = null;
      this.#native?.close();
      line.run(() => this.onclose?.({ code } as never));
    }
  };
}
