/** What the filling has left is not to be carried away while something is timed. */
export async function collectGarbage(): Promise<void> {
  if ("Bun" in globalThis) return Bun.gc(true);
  const [{ setFlagsFromString }, { runInNewContext }] = await Promise.all([import("node:v8"), import("node:vm")]);
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("globalThis.gc") as (() => void) | undefined;
  collect?.();
}
