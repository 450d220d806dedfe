import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { usageOf } from "../../bench/servers/proc.ts";

const SPIN_MS = 100;

/** Holds 64 MiB and works, and so does a thread of it. With one below it that does the same: tells what both know of themselves. */
const PROGRAM = `
const { spawn } = require("node:child_process");
const { Worker } = require("node:worker_threads");
globalThis.held = Buffer.alloc(64 << 20, 1);
const spin = "while (process.threadCpuUsage().user < ${SPIN_MS}_000);";
eval(spin);
const stay = "require('node:worker_threads').parentPort.on('message', () => undefined).postMessage(1)";
new Worker(spin + stay, { eval: true }).once("message", () => {
  const tell = ({ bytes, ms }) => {
    const { user, system } = process.cpuUsage();
    console.log(JSON.stringify({ bytes: bytes + process.memoryUsage().rss, ms: ms + (user + system) / 1000 }));
  };
  if (process.argv[1] !== "above") return tell({ bytes: 0, ms: 0 });
  const child = spawn(process.execPath, ["-e", process.env.PROGRAM, "below"], { stdio: ["pipe", "pipe", "inherit"] });
  child.stdout.once("data", (text) => tell(JSON.parse(text)));
});
process.stdin.resume().on("end", () => process.exit());
`;

interface Told {
  readonly bytes: number;
  readonly ms: number;
}

test.runIf(process.platform === "linux")(
  "what a process used is the processor time of all its threads and of all below it, and the memory of all",
  async () => {
    const env = { ...process.env, PROGRAM };
    const child = spawn(process.execPath, ["-e", PROGRAM, "above"], { env, stdio: ["pipe", "pipe", "inherit"] });
    try {
      const [text] = (await once(child.stdout, "data")) as [Buffer];
      const { cpuMs = 0, residentBytes = 0 } = usageOf(child.pid ?? 0) ?? {};
      const { ms, bytes } = JSON.parse(text.toString()) as Told;
      expect(ms).toBeGreaterThan(4 * SPIN_MS);
      expect(cpuMs / ms).toBeGreaterThan(0.9);
      expect(cpuMs / ms).toBeLessThan(1.5);
      expect(residentBytes / bytes).toBeGreaterThan(0.8);
      expect(residentBytes / bytes).toBeLessThan(1.2);
    } finally {
      child.kill("SIGKILL");
    }
  },
);

test("of a process that is not there nothing is known", () => {
  expect(usageOf(2 ** 30)).toBeUndefined();
});
