import { bun } from "./runtimes.ts";
import { conformance } from "./suite.ts";

conformance(bun);
