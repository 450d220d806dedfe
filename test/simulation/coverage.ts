import type { Effect } from "../../src/core/effect.ts";

/** How often each kind of thing happened, so that a run can show that it was about something. */
export class Coverage {
  readonly counts: Map<string, number> = new Map();

  add(name: string, times = 1): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + times);
  }

  addEffects(effects: readonly Effect[]): void {
    for (const effect of effects) this.#addEffect(effect);
  }

  addAll(other: Coverage): void {
    for (const [name, times] of other.counts) this.add(name, times);
  }

  #addEffect(effect: Effect): void {
    this.add(`effect ${effect.kind}`);
    switch (effect.kind) {
      case "refused":
        this.add(`refused ${effect.code}`);
        if (effect.limit !== undefined) this.add(`limit ${effect.limit}`);
        return;
      case "ended":
        if (effect.again) this.add("ended again");
        else this.add(`${effect.held ? "held" : "waited"}, ${effect.outcome}`);
        if (effect.by !== undefined) this.add("ended by another");
        return;
      case "lost":
        this.add(`lost ${effect.reason}`);
        return;
      case "granted":
        if (effect.reentrant) this.add(effect.depth > 1 ? "nested" : "re-entered");
        else this.add(effect.mode);
        return;
      case "session_ended":
        this.add(`session ${effect.reason}`);
        return;
      case "released":
        if (effect.already) this.add(effect.depth > 0 ? "unnested already" : "released already");
        else if (effect.depth > 0) this.add("unnested");
        return;
      case "list":
        if (effect.more) this.add("list goes on");
        if (effect.keys.some(({ queue = [] }) => queue.length > 0)) this.add("list with a queue");
        if (effect.keys.some(({ asks }) => asks !== undefined)) this.add("asks listed");
        return;
      case "opened":
      case "resumed":
      case "queued":
      case "extended":
      case "asked":
      case "revoked":
        return;
      case "status":
        if (effect.asks !== undefined) this.add("asks shown");
        return;
      case "attempt_lost":
        this.add(`attempt lost ${effect.reason}`);
        return;
      case "started":
        if (effect.number > 1) this.add("started after a loss");
        return;
      case "completed":
        if (effect.already) this.add("completed already");
        return;
      case "forgotten":
        if (!effect.existed) this.add("forgotten was not there");
        return;
      case "record_status":
        this.add(`record ${effect.record?.state ?? "absent"}`);
        return;
      case "replay":
      case "in_progress":
      case "attempt_queued":
      case "failed":
      case "attempt_extended":
    }
  }
}
