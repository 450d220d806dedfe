import { deno } from "./runtimes.ts";
import { conformance } from "./suite.ts";

conformance(deno);
