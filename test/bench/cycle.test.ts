import { expect, test } from "vitest";
import { countsIn } from "../../bench/cycle/calls.ts";

test("calls of the kernel are read as perf tells them, and are unknown where it tells none", () => {
  const told = `
1200,,raw_syscalls:sys_enter,5000000,100.00,,
7,,page-faults,5000000,100.00,,
<not supported>,,syscalls:sys_enter_readv,0,100.00,,
801,,syscalls:sys_enter_sendto,5000000,100.00,,
`;
  const counts = countsIn(told);
  expect(counts).toMatchObject({ all: 1200, pageFaults: 7 });
  expect(counts?.named.get("sendto")).toBe(801);
  expect(counts?.named.get("readv")).toBe(0);
  expect(countsIn("event syntax error: 'raw_syscalls:sys_enter'")).toBeUndefined();
});
