import { node } from "./runtimes.ts";
import { conformance } from "./suite.ts";

conformance(node);
