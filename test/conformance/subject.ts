/** What a topic of the suite is given: the runtime under test, and a server on it that most tests share. */

import type { Runtime } from "./runtimes.ts";
import type { Silence } from "./silence.ts";

export interface Subject {
  readonly runtime: Runtime;
  readonly url: string;
  readonly socketUrl: string;
  /** What that server has printed. */
  readonly output: string;
  /** How a connection ended that was made before all tests and never said hello: nobody has to wait for it. */
  readonly silence: Promise<Silence>;
}

let count = 0;

/** A key that no other test uses. */
export function freshKey(): string {
  count += 1;
  return `key-${count}`;
}
