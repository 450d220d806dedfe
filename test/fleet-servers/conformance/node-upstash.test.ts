import { node } from "../../conformance/runtimes.ts";
import { conformanceInFleet, LOCK_TOPICS } from "./suite.ts";

await conformanceInFleet(node, "over REST", LOCK_TOPICS);
