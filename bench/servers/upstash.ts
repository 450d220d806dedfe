/** The stand-in for Upstash as a process of its own: `REDIS_URL`, `UPSTASH_TOKEN`. */

import { startUpstash } from "../../test/stand-ins/upstash.ts";

const { REDIS_URL: redisUrl = "", UPSTASH_TOKEN: token = "" } = process.env;
const upstash = await startUpstash({ redisUrl, token });
process.once("SIGTERM", () => {
  upstash.close().then(
    () => process.exit(),
    () => process.exit(1),
  );
});
console.log(upstash.url);
