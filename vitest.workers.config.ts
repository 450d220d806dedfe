import { cloudflareTest } from "@cloudflare/vitest-plugin";
import { defineConfig } from "vitest/config";

// Tests that run inside workerd, beside the objects that they look into: storage, alarms, sleep and limits.
export default defineConfig({
  plugins: [
    cloudflareTest({
      wrangler: { configPath: "./wrangler.jsonc" },
      // Long ones: the tests let alarms go off by themselves only where they say so.
      miniflare: { bindings: { LATCHKEY_HEARTBEAT: "500ms", LATCHKEY_DEADLINE: "1500ms" } },
    }),
  ],
  test: {
    name: "workers-inside",
    include: ["test/workers/inside/**/*.test.ts"],
    testTimeout: 20_000,
  },
});
