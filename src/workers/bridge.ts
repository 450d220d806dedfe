/**
 * A session whose space is known only from its first frame. The object must be chosen before the socket is handed over, so
 * here the Worker keeps the socket and passes frames on. The object sleeps as ever; the Worker costs a request and
 * its CPU time. A client that names its space in the URL does without.
 */

import type { Credential, Shown } from "../host/auth.ts";
import { offeredProtocols } from "../host/auth.ts";
import { CLOSE } from "../protocol/close.ts";
import { HELLO_TIMEOUT_MS, SUBPROTOCOL } from "../protocol/limits.ts";
import { isSpace, SPACE_DEFAULT } from "../protocol/names.ts";
import { closeSocket, type SocketEvent, socketPair, upgraded, type WorkerSocket } from "./platform.ts";

/** Connects to the object of a space; undefined: it refuses. */
export type Connect = (space: string) => Promise<WorkerSocket | undefined>;

export function bridge(request: Request, shown: Shown, connect: Connect): Response {
  const [client, near] = socketPair();
  near.binaryType = "arraybuffer";
  near.accept();
  let far: WorkerSocket | undefined;
  let early: (string | ArrayBuffer)[] = [];
  let isOver = false;

  const end = (code: number, reason: string): void => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    closeSocket(near, code, reason);
    if (far !== undefined) closeSocket(far, code, reason);
  };
  const timer = setTimeout(() => end(CLOSE.helloTimeout, "no hello in time"), HELLO_TIMEOUT_MS);

  const open = async (first: string | ArrayBuffer): Promise<void> => {
    clearTimeout(timer);
    const socket = await connect(spaceOf(first, shown));
    if (socket === undefined) return end(CLOSE.overloaded, "the space takes no more sessions");
    if (isOver) {
      socket.accept();
      return closeSocket(socket, CLOSE.goingAway, "");
    }
    far = socket;
    socket.addEventListener("message", ({ data }) => {
      if (!isOver) near.send(data);
    });
    socket.addEventListener("close", ({ code, reason }) => end(code, reason));
    socket.addEventListener("error", () => end(CLOSE.goingAway, ""));
    socket.accept();
    for (const data of early) socket.send(data);
    early = [];
  };

  near.addEventListener("message", ({ data }: SocketEvent) => {
    if (isOver) return;
    if (far !== undefined) far.send(data);
    else if (early.push(data) === 1) open(data).catch(() => end(CLOSE.internal, "the space cannot be reached"));
  });
  near.addEventListener("close", ({ code, reason }) => end(code, reason));
  near.addEventListener("error", () => end(CLOSE.goingAway, ""));
  const offered = offeredProtocols(request.headers.get("sec-websocket-protocol"));
  return upgraded(client, offered.includes(SUBPROTOCOL) ? SUBPROTOCOL : undefined);
}

/** What is no hello goes to the default space, whose object says what is wrong with it. */
function spaceOf(first: string | ArrayBuffer, shown: Shown): string {
  const fallback = (typeof shown === "object" ? (shown satisfies Credential).space : undefined) ?? SPACE_DEFAULT;
  if (typeof first !== "string") return fallback;
  try {
    const hello = JSON.parse(first) as { readonly space?: unknown } | null;
    const space = hello?.space;
    return typeof space === "string" && isSpace(space) ? space : fallback;
  } catch {
    return fallback;
  }
}
