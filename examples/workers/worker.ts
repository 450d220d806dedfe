/** A Worker of your own with Latchkey in it: its routes beside yours, and its locks in your code. */

import { latchkey, type LatchkeyEnv } from "latchkey/workers";

export { LockSpace } from "latchkey/workers";

export default {
  async fetch(request: Request, env: LatchkeyEnv): Promise<Response> {
    const answer = latchkey(env).fetch(request);
    if (answer !== undefined) return answer;
    if (new URL(request.url).pathname !== "/report") return new Response("my own page\n");
    // Only one of all that ask at the same time does the work.
    const lock = await latchkey(env).locks().tryAcquire("report", { ttl: 60_000 });
    if (lock === null) return new Response("somebody else is at it\n", { status: 409 });
    try {
      return new Response(`written with fence ${lock.fence}\n`);
    } finally {
      await lock.release();
    }
  },
};
