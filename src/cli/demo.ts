/** The example page that a server of this repository shows. A published package is without it, and serves none. */

import { existsSync } from "node:fs";
import type { Pages } from "../host/settings.ts";

export const DEMO_PATH = "/demo";

const DEMO = new URL("../../examples/editor/serve.ts", import.meta.url);

export async function openDemo(): Promise<Pages | undefined> {
  if (!existsSync(DEMO)) return undefined;
  const { createDemo } = (await import(DEMO.href)) as { readonly createDemo: () => Pages };
  return createDemo();
}
