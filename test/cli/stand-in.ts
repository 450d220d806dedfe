/** Starts from the environment, as a runtime does, something that only looks like a server. */

import { startFromEnvironment } from "../../src/cli/serve.ts";

const { FAIL, HANG, BREAK } = process.env;

await startFromEnvironment(async ({ hostname, port = 0 }) => {
  if (FAIL !== undefined) throw Object.assign(new Error("listen failed"), { code: FAIL });
  // A server's port keeps its process alive.
  const alive = setInterval(() => {}, 1000);
  const close = async (): Promise<void> => {
    console.log("closing");
    if (BREAK !== undefined) throw new Error("the disk is full");
    if (HANG !== undefined) await new Promise(() => {});
    clearInterval(alive);
  };
  return { url: `http://${hostname}:${port}`, port, close, [Symbol.asyncDispose]: close };
});
