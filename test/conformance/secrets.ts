/** Every token and secret that the tests have seen, for the rule that a server never prints one. */

const seen = new Set<string>();

export function keepSecret(secret: string): void {
  seen.add(secret);
}

export function secretsIn(text: string): string[] {
  return [...seen].filter((secret) => text.includes(secret));
}
