import { afterAll, beforeAll, describe, test } from "vitest";
import { type Client, connect } from "../../src/client/index.ts";
import { bun, deno, node, workers } from "../conformance/runtimes.ts";
import { type Server, startServer } from "../conformance/server.ts";
import { CASES, type Manager, type Managers, runCase } from "./suite.ts";

describe.each([bun, deno, node, workers])("client.locks over a server on $name", (runtime) => {
  let server: Server;
  let clients: Client[] = [];
  beforeAll(async () => {
    server = await startServer(runtime);
    clients = [1, 2, 3].map(() => connect(server.url));
    await Promise.all(clients.map(({ ready }) => ready));
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await server[Symbol.asyncDispose]();
  });

  const lasting = CASES.filter(({ needs = [] }) => !needs.includes("end"));
  test.each(lasting)("$name", (one) => runCase(one, managersOf(clients)));

  const ending = CASES.filter(({ needs = [] }) => needs.includes("end"));
  test.each(ending)("$name", async (one) => {
    const own = [1, 2, 3].map(() => connect(server.url));
    try {
      await runCase(one, managersOf(own));
    } finally {
      await Promise.all(own.map((client) => client.close()));
    }
  });
});

function managersOf(clients: readonly Client[]): Managers {
  const all = clients.map(({ locks }) => locks as Manager) as unknown as Managers["all"];
  return { all, end: async (manager) => clients[all.indexOf(manager)]?.close() };
}
