import { bun } from "../../conformance/runtimes.ts";
import { conformanceInFleet, LOCK_TOPICS } from "./suite.ts";

await conformanceInFleet(bun, "over TCP", LOCK_TOPICS);
