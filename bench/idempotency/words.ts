/** What the report says. */

export function inWords(count: number): string {
  return count.toLocaleString("en").replaceAll(",", " ");
}

export function verdict(rule: string, holds: boolean): void {
  console.log(`    ${holds ? "holds" : "DOES NOT HOLD"}: ${rule}`);
}
