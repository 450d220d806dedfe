/** The stand-in for Upstash as a program: `node bench/servers/upstash.ts redis://…` prints its address. */

import process from "node:process";
import { startUpstash } from "../../test/stand-ins/upstash.ts";

const { url } = await startUpstash({ redisUrl: process.argv[2] ?? "" });
console.log(url);
