import { node } from "../../conformance/runtimes.ts";
import { conformanceInFleet, TOPICS } from "./suite.ts";

await conformanceInFleet(node, "over TCP", TOPICS);
