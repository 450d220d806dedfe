/** The stand-in for Upstash as a process of its own: `node bench/servers/upstash.ts redis://…`, with `UPSTASH_TOKEN` or the stand-in's own token. */

import { startUpstash } from "../../test/stand-ins/upstash.ts";

const { UPSTASH_TOKEN: token } = process.env;
const upstash = await startUpstash({ redisUrl: process.argv[2] ?? "", ...(token !== undefined && { token }) });
process.once("SIGTERM", () => {
  upstash.close().then(
    () => process.exit(),
    () => process.exit(1),
  );
});
console.log(upstash.url);
