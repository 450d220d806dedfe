/** A Latchkey server, started as a user would start it: as a process, from its environment, on a free port. */

import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Child, type Ended } from "./child.ts";
import type { Runtime } from "./runtimes.ts";

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Where it runs, and keeps its file. A folder of its own where none is given. */
  readonly folder?: string;
  /** A command that runs the server's command, such as `ip netns exec name`. */
  readonly within?: readonly string[];
}

export interface Server extends AsyncDisposable {
  readonly url: string;
  readonly socketUrl: string;
  readonly process: Child;
  /** Asks it to drain, and resolves when it has ended. */
  stop(signal?: NodeJS.Signals): Promise<Ended>;
  /** `kill -9`. */
  kill(): Promise<Ended>;
}

/** Resolves when the server has printed its address: from then on it accepts connections. */
export async function startServer(runtime: Runtime, options: StartOptions = {}): Promise<Server> {
  const own = options.folder === undefined ? temporaryFolder(runtime) : undefined;
  const child = launch(runtime, options, options.folder ?? own?.path ?? "");
  const kill = (): Promise<Ended> => child.kill();
  const dispose = async (): Promise<void> => {
    await kill();
    own?.remove();
  };
  try {
    const url = await child.printed(/https?:\/\/[^\s/]+:\d+/);
    return {
      url,
      socketUrl: `${url.replace("http", "ws")}/v1/session`,
      process: child,
      stop: (signal = "SIGTERM") => {
        child.signal(signal);
        return child.ended;
      },
      kill,
      [Symbol.asyncDispose]: dispose,
    };
  } catch (error) {
    await dispose();
    throw error;
  }
}

/** For a server that is expected to refuse: what it printed, and its exit code once it has ended by itself. */
export async function failToStart(
  runtime: Runtime,
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number | null; readonly output: string }> {
  using folder = temporaryFolder(runtime);
  await using child = launch(runtime, { env }, folder.path);
  const { code } = await child.ended;
  return { code, output: child.output };
}

/** Gone, with all that is in it, when it is disposed of. */
export function temporaryFolder(runtime?: Runtime): ReturnType<typeof mkdtempDisposableSync> {
  return mkdtempDisposableSync(join(runtime?.folderIn ?? tmpdir(), "latchkey-"));
}

function launch(runtime: Runtime, { env = {}, within = [] }: StartOptions, folder: string): Child {
  const given = { HOST: "127.0.0.1", PORT: "0", ...runtime.env?.(folder), ...env };
  return new Child([...within, ...runtime.command], given, folder);
}
