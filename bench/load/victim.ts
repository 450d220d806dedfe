/** A process that holds the row's key until it is killed. */

import { connect } from "node:net";
import { driverOf } from "../drivers/all.ts";
import type { Fate } from "./victims.ts";

const { driver, target, port } = JSON.parse(process.argv[2] ?? "") as Fate;
const opened = await (await driverOf(driver)).open(target);
const client = await opened.connect(0, () => process.exit(1));
await client.acquire(target.keys[0] ?? "", {});
// Opened last: Linux (since 4.3) closes what a process had open in the reverse order.
const socket = connect(port, "127.0.0.1");
// Nobody may outlive whoever wanted to kill it.
socket.on("error", () => process.exit());
socket.on("close", () => process.exit());
