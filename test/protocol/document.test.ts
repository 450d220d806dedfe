import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { AcquireBody, ExtendBody, ReleaseBody, RevokeBody } from "../../src/protocol/bodies.ts";
import { ClientFrame, Hello } from "../../src/protocol/frames.ts";
import { BeginBody, CompleteBody, ExtendAttemptBody, FailBody } from "../../src/protocol/idempotency-bodies.ts";
import { FRAME_BYTES_MAX, RESULT_BYTES_MAX, SUBPROTOCOL } from "../../src/protocol/limits.ts";
import { ACK, PING, PONG, type ServerFrame } from "../../src/protocol/server-frames.ts";

const PROTOCOL = readFileSync(new URL("../../PROTOCOL.md", import.meta.url), "utf8");

/** Each frame that a server sends, which the compiler keeps complete. */
const SERVER_FRAMES: Readonly<Record<ServerFrame["t"], true>> = {
  welcome: true,
  queued: true,
  granted: true,
  timeout: true,
  cancelled: true,
  lost: true,
  extended: true,
  released: true,
  access_requested: true,
  status: true,
  list: true,
  revoked: true,
  refused: true,
  error: true,
  draining: true,
  started: true,
  replay: true,
  in_progress: true,
  attempt_queued: true,
  completed: true,
  failed: true,
  attempt_extended: true,
  forgotten: true,
  attempt_lost: true,
  state: true,
  unwatched: true,
};

/** The lines of a section, from its heading to the next. */
function section(heading: string): string[] {
  const lines = PROTOCOL.split("\n");
  const start = lines.findIndex((line) => line.startsWith("#") && line.includes(heading));
  const length = lines.slice(start + 1).findIndex((line) => line.startsWith("#"));
  return lines.slice(start + 1, start + 1 + length);
}

/** The frames that a section's table describes: type → members, as written at the start of its row. */
function framesIn(heading: string): Map<string, string[]> {
  const frames = new Map<string, string[]>();
  for (const line of section(heading)) {
    const shape = /^\| `(\{"t":"(\w+)".*?\})`[^|]*\|/.exec(line);
    if (shape === null) continue;
    const members = [...shape[1]!.matchAll(/"(\w+)"(?=\??[,:}])/g)].map(([, member]) => member!);
    frames.set(
      shape[2]!,
      members.filter((member) => member !== shape[2]),
    );
  }
  return frames;
}

const clientFrames = framesIn("Client → server");
const serverFrames = framesIn("Server → client");

describe("PROTOCOL.md", () => {
  test("lists every frame that clients send, and no other", () => {
    const types = ClientFrame.options.map((option) => option.entries.t.literal);
    expect([...clientFrames.keys()].toSorted()).toEqual([...types].toSorted());
  });

  test.each(ClientFrame.options.map((option) => [option.entries.t.literal, option] as const))(
    "shows the members of %s as its schema has them",
    (type, option) => {
      const resume = Object.keys(Hello.entries.resume.wrapped.entries);
      const members = [...Object.keys(option.entries), ...(type === "hello" ? resume : [])];
      expect(clientFrames.get(type)!.toSorted()).toEqual(members.toSorted());
    },
  );

  test("lists every frame that servers send, and no other", () => {
    expect([...serverFrames.keys()].toSorted()).toEqual(Object.keys(SERVER_FRAMES).toSorted());
  });

  test("names the three frames that are no JSON", () => {
    expect(section("Client → server").join()).toContain(`| \`${PONG}\``);
    expect(section("Server → client").join()).toContain(`| \`${PING}\`, \`${ACK}\``);
  });

  test("shows the members of each HTTP body as its schema has them", () => {
    const rows = [...section("4. HTTP"), ...section("5.1 HTTP")].filter((line) => line.startsWith("| `"));
    for (const [call, schema] of [
      ["/acquire`", AcquireBody],
      ["/v1/latch/{key}/extend`", ExtendBody],
      ["/release`", ReleaseBody],
      ["/begin`", BeginBody],
      ["/complete`", CompleteBody],
      ["/fail`", FailBody],
      ["/v1/idempotency/{key}/extend`", ExtendAttemptBody],
      ["`DELETE /v1/latch/{key}`", RevokeBody],
    ] as const) {
      const row = rows.find((line) => line.includes(call))!;
      const body = /` `\{([^}]*)\}` \|/.exec(row)![1]!;
      const members = body.split(",").map((member) => member.trim().replace("?", ""));
      expect(members.toSorted()).toEqual(Object.keys(schema.entries).toSorted());
    }
  });

  test("tells the size of a frame and the subprotocol as the code has them", () => {
    expect(PROTOCOL.replaceAll(" ", "")).toContain(`${FRAME_BYTES_MAX}bytes`);
    expect(PROTOCOL.replaceAll(" ", "")).toContain(`${RESULT_BYTES_MAX}bytes`);
    expect(PROTOCOL).toContain(`\`${SUBPROTOCOL}\``);
  });
});
