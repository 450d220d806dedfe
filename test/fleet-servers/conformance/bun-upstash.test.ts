import { bun } from "../../conformance/runtimes.ts";
import { conformanceInFleet, LOCK_TOPICS } from "./suite.ts";

await conformanceInFleet(bun, "over REST", LOCK_TOPICS);
