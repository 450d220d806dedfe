/** The kinds of tests, and the folders under test/ that hold them. `unit` runs on every runtime, the others on Node. */
export const TEST_FOLDERS = {
  unit: ["core", "protocol", "host", "stores", "client", "claim-store", "element", "hono", "cli", "runtimes", "bench"],
  simulation: ["simulation"],
  conformance: ["conformance", "web-locks"],
  processes: ["stand-ins", "load-generators", "power-cuts"],
  fleet: ["fleet"],
  "fleet-servers": ["fleet-servers"],
  workers: ["workers"],
  "workers-inside": ["workers/inside"],
  browser: ["browser"],
  docs: ["docs", "examples"],
} as const satisfies Record<string, readonly string[]>;

export type TestKind = keyof typeof TEST_FOLDERS;
