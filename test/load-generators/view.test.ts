import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { gaugesOf, untilEmpty, untilFree } from "../../bench/servers/view.ts";

/** A server that answers one after the other, and how many it has given. */
async function answering<T>(answers: readonly string[], run: (url: string) => Promise<T>): Promise<[T, number]> {
  let given = 0;
  const server = createServer((_request, response) => response.end(answers[given++] ?? ""));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    return [await run(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`), given];
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

function metrics(sessions: number, keys: number): string {
  return `# TYPE latchkey_sessions gauge\nlatchkey_sessions ${sessions}\nlatchkey_keys ${keys}\nlatchkey_holding 3\nlatchkey_waiting 4\n`;
}

test("the gauges are those of the metrics' page, and one that it does not have is not 0", async () => {
  expect((await answering([metrics(1, 2)], gaugesOf))[0]).toEqual({ sessions: 1, keys: 2, holding: 3, waiting: 4 });
  expect((await answering(["latchkey_sessions_max 9\n"], gaugesOf))[0].sessions).toBeNaN();
});

test("a server is empty when it knows of no session and of no key", async () => {
  expect((await answering([metrics(1, 0), metrics(0, 1), metrics(0, 0)], untilEmpty))[1]).toBe(3);
});

test("a key is free when nobody holds it and nobody waits", async () => {
  const answers = [
    { status: "held", waiting: 0 },
    { status: "free", waiting: 1 },
    { status: "free", waiting: 0 },
  ];
  const texts = answers.map((answer) => JSON.stringify(answer));
  expect((await answering(texts, (url) => untilFree(url, "a/b")))[1]).toBe(3);
});
