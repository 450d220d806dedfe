/** A server's store in a process of its own, to be killed: commits claim after claim, and says so after each commit. */

import { writeSync } from "node:fs";
import { calm, driverOfRuntime } from "./drivers.ts";
import { claims, holding } from "./records.ts";

const [path = ""] = process.argv.slice(2);
const clock = { now: () => performance.now(), wall: () => Date.now() };
const driver = await driverOfRuntime();
const store = calm(driver.open(path, { clock }));

let serial = store.load("default").serial;
for (let ticket = 1; ; ticket++) {
  serial += 100;
  // Two rows and the serial, so that a commit torn in two would show.
  store.commit("default", {
    ...claims(holding(2 * ticket), holding(2 * ticket + 1)),
    serialReserved: serial,
  });
  // A blocking write: what the parent has read was committed before.
  writeSync(1, `${ticket} ${serial}\n`);
}
