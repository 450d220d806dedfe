import { describe, expect, test } from "vitest";
import { FIELDS, type FieldState, TEXT_CHARS_MAX } from "../../examples/editor/fields.ts";
import { BODY_BYTES_MAX, FOLLOWERS_MAX, FormDocument } from "../../examples/editor/document.ts";
import { RUNTIMES } from "../conformance/runtimes.ts";
import { startServer } from "../conformance/server.ts";

const KEY = "correct-horse-battery";

describe.each(RUNTIMES)("a $name server of this repository", (runtime) => {
  test("shows the demo, with a policy that lets nothing in from elsewhere", async () => {
    await using server = await startServer(runtime);
    const page = await fetch(`${server.url}/demo`);
    expect(await page.text()).toContain("<h1>Two people, one form</h1>");
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'; script-src 'self'");
    const script = await fetch(`${server.url}/demo/page.js`);
    expect(script.headers.get("content-type")).toContain("text/javascript");
    expect(await script.text()).toContain("latchkey.v1");
    expect((await fetch(`${server.url}/demo/style.css`)).headers.get("content-type")).toContain("text/css");
    expect((await fetch(`${server.url}/demo/other`)).status).toBe(404);
    const foreign = await fetch(`${server.url}/demo`, { headers: { origin: "https://evil.example" } });
    expect(foreign.status).toBe(403);
  });

  test("tells of a write to whoever follows the document", async () => {
    await using server = await startServer(runtime);
    const hangUp = new AbortController();
    const events = await fetch(`${server.url}/demo/document`, { signal: hangUp.signal });
    const told = fields(events);
    for (const { name } of FIELDS) expect((await told.next()).value?.name).toBe(name);
    const body = JSON.stringify({ fence: 7, by: "Ada", text: "Picnic" });
    expect((await fetch(`${server.url}/demo/document/title`, { method: "PUT", body })).status).toBe(200);
    expect((await told.next()).value).toEqual({ name: "title", text: "Picnic", fence: 7, by: "Ada" });
    hangUp.abort();
  });

  test("with keys shows no demo unless it was told to", async () => {
    await using plain = await startServer(runtime, { env: { LATCHKEY_KEYS: KEY } });
    expect((await fetch(`${plain.url}/demo`)).status).toBe(404);
    await using shown = await startServer(runtime, { env: { LATCHKEY_KEYS: KEY, LATCHKEY_DEMO: "on" } });
    expect((await fetch(`${shown.url}/demo`)).status).toBe(200);
  });
});

describe("the document", () => {
  const write = async (form: FormDocument, body: unknown, name = "title"): Promise<number> => {
    const request = new Request("http://127.0.0.1/", { method: "PUT", body: JSON.stringify(body) });
    return (await form.write(name, request)).status;
  };

  test("refuses a fence that is lower than one it has seen, also where that one wrote nothing", async () => {
    const form = new FormDocument();
    expect(await write(form, { fence: 8, by: "Grace" })).toBe(200);
    expect(await write(form, { fence: 7, by: "Ada", text: "late" })).toBe(412);
    expect(await write(form, { fence: 8, by: "Grace", text: "in time" })).toBe(200);
    expect(await write(form, { fence: 7, by: "Ada", text: "another field" }, "place")).toBe(200);
  });

  test.each([
    ["no fence", { by: "Ada", text: "a" }],
    ["a fence that is no number", { fence: "9", by: "Ada", text: "a" }],
    ["no name", { fence: 1, text: "a" }],
    ["a long name", { fence: 1, by: "a".repeat(41), text: "a" }],
    ["a text that is none", { fence: 1, by: "Ada", text: 1 }],
    ["a long text", { fence: 1, by: "Ada", text: "a".repeat(TEXT_CHARS_MAX + 1) }],
    ["null", null],
  ])("refuses %s", async (_, body) => {
    expect(await write(new FormDocument(), body)).toBe(400);
  });

  test("takes a body of the longest kind, and none that is longer", async () => {
    const form = new FormDocument();
    const body = JSON.stringify({ fence: 1, by: "Ada" });
    for (const [length, status] of [
      [BODY_BYTES_MAX, 200],
      [BODY_BYTES_MAX + 1, 400],
    ] as const) {
      const request = new Request("http://127.0.0.1/", { method: "PUT", body: body.padEnd(length) });
      expect((await form.write("title", request)).status).toBe(status);
    }
  });

  test("has room for so many who follow it, and for another one when one has left", async () => {
    const form = new FormDocument();
    const last = new AbortController();
    for (let count = 1; count < FOLLOWERS_MAX; count++) form.follow(new AbortController().signal);
    expect(form.follow(last.signal).status).toBe(200);
    expect(form.follow(new AbortController().signal).status).toBe(503);
    last.abort();
    expect(form.follow(new AbortController().signal).status).toBe(200);
  });

  test("cuts a follower that does not read", async () => {
    const form = new FormDocument();
    const { body } = form.follow(new AbortController().signal);
    for (let count = 0; count < 1_100; count++) await write(form, { fence: 1, by: "Ada", text: String(count) });
    let events = 0;
    for await (const _ of body ?? []) events += 1;
    expect(events).toBeGreaterThan(900);
    expect(events).toBeLessThan(1_050);
  });

  test("takes a name and a text of the longest kind, and has no other fields", async () => {
    const form = new FormDocument();
    const body = { fence: 1, by: "a".repeat(40), text: "\n".repeat(TEXT_CHARS_MAX) };
    expect(await write(form, body)).toBe(200);
    expect(await write(form, body, "other")).toBe(404);
  });
});

/** What a stream of events tells, one after the other. */
async function* fields({ body }: Response): AsyncGenerator<FieldState> {
  let rest = "";
  for await (const chunk of (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    const parts = (rest + chunk).split("\n\n");
    rest = parts.pop() ?? "";
    for (const part of parts) yield JSON.parse(part.replace("data: ", "")) as FieldState;
  }
}
