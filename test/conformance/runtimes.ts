/** The runtimes a server runs on, each with the command that starts it and what it is known to do differently. */

import { fileURLToPath } from "node:url";

export interface Runtime {
  readonly name: string;
  /** Program and arguments. The binary itself and no wrapper, so that a signal reaches the server. */
  readonly command: readonly string[];
  /**
   * Whether a close code always reaches a peer that goes on sending. Where the runtime ends the connection without reading
   * what is under way, the reset may overtake the code.
   */
  readonly closesPatiently: boolean;
  /** What closes a frame so far past the limit that the runtime may refuse to read it. */
  readonly hugeFrameCode: 1009 | 4413;
}

export const bun: Runtime = {
  name: "bun",
  command: [binary("bun"), source("bun")],
  closesPatiently: false,
  hugeFrameCode: 1009,
};

export const deno: Runtime = {
  name: "deno",
  command: [binary("deno"), "run", "-A", "--cached-only", "--no-remote", source("deno")],
  closesPatiently: false,
  hugeFrameCode: 4413,
};

export const node: Runtime = {
  name: "node",
  command: [binary("node"), source("node")],
  closesPatiently: true,
  hugeFrameCode: 1009,
};

export const RUNTIMES: readonly Runtime[] = [bun, deno, node];

function binary(name: string): string {
  return inRepository(`node_modules/.bin/${name}`);
}

function source(name: string): string {
  return inRepository(`runtimes/${name}.ts`);
}

function inRepository(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}
