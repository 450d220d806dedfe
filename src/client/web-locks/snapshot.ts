/** What `query` of the Web Locks tells, put together from all pages. Loaded with the first query. */

import type { KeyList, Waiting } from "../locks.ts";
import type { WebLockEntry, WebLockSnapshot } from "./types.ts";

/** `page`: the first; `more` gives the one after a key. */
export async function snapshotOf(page: KeyList, more: (after: string) => Promise<KeyList>): Promise<WebLockSnapshot> {
  const held: WebLockEntry[] = [];
  const pending: WebLockEntry[] = [];
  for (;;) {
    for (const { key: name, holders, queue = [] } of page.keys) {
      const entryOf = ({ mode, session: clientId = "" }: Waiting): WebLockEntry => ({ name, mode, clientId });
      held.push(...holders.map(entryOf));
      pending.push(...queue.map(entryOf));
    }
    if (page.next === undefined) return { held, pending };
    page = await more(page.next);
  }
}
