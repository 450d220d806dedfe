import { deno } from "../../conformance/runtimes.ts";
import { conformanceInFleet, LOCK_TOPICS } from "./suite.ts";

await conformanceInFleet(deno, "over REST", LOCK_TOPICS);
