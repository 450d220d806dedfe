import process from "node:process";

/** The runtime that runs this, with its version, as figures are to be named by. */
export function runtimeName(): string {
  const { versions } = process;
  if (versions["bun"] !== undefined) return `Bun ${versions["bun"]}`;
  if (versions["deno"] !== undefined) return `Deno ${versions["deno"]}`;
  return `Node ${versions.node}`;
}
