/** Publishes back what it hears, with nothing in between: `node bench/servers/answer.ts redis://…` prints `ready`. */

import process from "node:process";
import { createClient } from "redis";

const url = process.argv[2] ?? "";
const speaks = await createClient({ url }).connect();
const hears = await createClient({ url }).connect();
await hears.subscribe("there", (text) => void speaks.publish("back", text));
console.log("ready");
