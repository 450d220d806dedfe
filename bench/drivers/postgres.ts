/** Postgres's advisory locks: one connection a client, and the server queues. */

import { Client } from "pg";
import { type Driver, nothing } from "./driver.ts";

/** What is below the client, which itself only says goodbye. */
interface Cuttable {
  readonly connection: { readonly stream: { destroy(): void } };
}

export const postgres: Driver = {
  name: "postgres",
  can: { shared: true, limit: false, drop: true, keys: true, quiet: true, ordered: true, clientsMax: 128 },
  open: async ({ url }) => ({
    connect: async (_index, broken) => {
      const client = new Client({ connectionString: url });
      let isOver = false;
      client.on("error", (error) => {
        if (!isOver) broken(error);
      });
      await client.connect();
      const run = (name: string, key: string): Promise<unknown> =>
        client.query({ name, text: `select ${name}(hashtextextended($1, 0))`, values: [key] });
      return {
        acquire: async (key, { mode }) => {
          const suffix = mode === "shared" ? "_shared" : "";
          await run(`pg_advisory_lock${suffix}`, key);
          return { release: async () => void (await run(`pg_advisory_unlock${suffix}`, key)) };
        },
        drop: () => {
          isOver = true;
          (client as unknown as Cuttable).connection.stream.destroy();
        },
        close: () => client.end(),
      };
    },
    close: nothing,
  }),
};
