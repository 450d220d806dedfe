import { workers } from "./runtimes.ts";
import { conformance } from "./suite.ts";

conformance(workers);
