import { once } from "node:events";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocket, WebSocketServer } from "ws";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TextFrames } from "../../runtimes/node-websocket.ts";

let server: WebSocketServer;
let client: WebSocket;
let served: WebSocket;
let connection: Duplex;
const heard: string[] = [];

beforeAll(async () => {
  server = new WebSocketServer({ port: 0, host: "127.0.0.1", perMessageDeflate: false });
  await once(server, "listening");
  server.on("connection", (ws, { socket }) => {
    served = ws;
    connection = socket;
  });
  client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  client.on("message", (told: Buffer) => heard.push(told.toString()));
  client.on("ping", (told: Buffer) => heard.push(`ping ${told.toString()}`));
  await once(client, "open");
});

afterAll(async () => {
  client.terminate();
  await new Promise((resolve) => server.close(resolve));
});

/** All that was written before has arrived when this has. */
async function arrived(): Promise<string[]> {
  served.ping("");
  while (heard.at(-1) !== "ping ") await once(client, "ping");
  return heard.splice(0).slice(0, -1);
}

describe("text frames on Node", () => {
  it.each([0, 1, 125, 126, 127, 255, 256, 65_535, 65_536, 70_000])(
    "arrive as they are: %i characters",
    async (chars) => {
      const text = "x".repeat(chars);
      new TextFrames(connection).write(text);
      expect(await arrived()).toEqual([text]);
    },
  );

  it.each(["é".repeat(62), "é".repeat(63), "日本", "🔑".repeat(16_384), "a\\u0000b", "\u0081ÿ"])(
    "are UTF-8, whatever they say",
    async (text) => {
      new TextFrames(connection).write(text);
      expect(await arrived()).toEqual([text]);
    },
  );

  it("keep their order among each other and with what ws itself writes", async () => {
    const frames = new TextFrames(connection);
    frames.write("first");
    frames.write("second");
    served.ping("between");
    frames.write("third");
    expect(await arrived()).toEqual(["first", "second", "ping between", "third"]);
  });

  it("leave at once when they are the first of a tick, and together when they are not", async () => {
    const frames = new TextFrames(connection);
    frames.write("first");
    expect(connection.writableCorked).toBe(0);
    frames.write("second");
    expect(connection.writableCorked).toBe(1);
    await new Promise<void>((resolve) => process.nextTick(resolve));
    expect(connection.writableCorked).toBe(0);
    frames.write("of another tick");
    expect(connection.writableCorked).toBe(0);
    expect(await arrived()).toEqual(["first", "second", "of another tick"]);
  });
});
