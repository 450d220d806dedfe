import { expect, test } from "vitest";
import { createMint } from "../../src/host/mint.ts";

test("a token has 132 bits of base64url, and none comes twice", () => {
  const mint = createMint();
  const tokens = Array.from({ length: 10_000 }, () => mint.token());

  expect(new Set(tokens).size).toBe(tokens.length);
  for (const token of tokens) expect(token).toMatch(/^[A-Za-z0-9_-]{22}$/);
});

test("every character is about equally likely", () => {
  const mint = createMint();
  const counts = new Map<string, number>();
  for (let i = 0; i < 20_000; i++) {
    for (const char of mint.token()) counts.set(char, (counts.get(char) ?? 0) + 1);
  }

  expect(counts.size).toBe(64);
  // 6875 expected each, standard deviation 82: ten of them would be a broken alphabet, not chance.
  for (const count of counts.values()) expect(Math.abs(count - 6875)).toBeLessThan(820);
});
