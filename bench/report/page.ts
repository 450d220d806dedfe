import type { Results } from "../harness/results.ts";
export function page(results: Results): string {
  return JSON.stringify(results.notes);
}
