/** Somebody's own app on a port, as each runtime serves it. */

export interface ServedApp {
  readonly url: string;
  stop(): Promise<unknown>;
}

type Fetch = (request: Request) => Response | Promise<Response>;

const hostname = "127.0.0.1";

export async function serveApp(fetch: Fetch): Promise<ServedApp> {
  if ("Bun" in globalThis) {
    const server = Bun.serve({ hostname, port: 0, fetch });
    return { url: `http://${hostname}:${server.port}`, stop: () => server.stop(true) };
  }
  if ("Deno" in globalThis) {
    const server = Deno.serve({ hostname, port: 0, onListen: () => {} }, fetch);
    return { url: `http://${hostname}:${server.addr.port}`, stop: () => server.shutdown() };
  }
  const { serve } = await import("@hono/node-server");
  return new Promise((resolve) => {
    const server = serve({ fetch, hostname, port: 0, overrideGlobalObjects: false }, ({ port }) => {
      const stop = () => new Promise((stopped) => server.close(stopped));
      resolve({ url: `http://${hostname}:${port}`, stop });
    });
  });
}
