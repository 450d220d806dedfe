import { fileURLToPath } from "node:url";

/** From the repository's root. */
export function inRepository(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}
