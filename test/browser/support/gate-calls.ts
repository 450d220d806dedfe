/** What the page `gate` can be asked for. */
export interface GateCalls {
  /** Puts this into the page. */
  put(html: string): void;
  /** Defines the element, once. */
  define(): void;
  /** Of the gate with that id. */
  state(id: string): string;
  fence(id: string): number | undefined;
  /** Resolves as soon as the gate is in that state. */
  reached(id: string, state: string): Promise<void>;
  /** Whether an element can have the focus: nothing that is inert or hidden can. */
  isUsable(selector: string): boolean;
  /** Whether an element is seen. */
  isShown(selector: string): boolean;
  /** All events so far, in the order of the page: their type, their target's id, and what they said. */
  events(): readonly Told[];
  set(id: string, attribute: string, value: string): void;
  /** Takes the gate out and puts it elsewhere, in one turn. */
  move(id: string): void;
  remove(id: string): void;
  acquire(id: string): string;
  release(id: string): Promise<void>;
  steal(id: string, reason: string): Promise<void>;
}

export interface Told {
  readonly type: string;
  readonly id: string;
  /** Whether the content of the gate was usable when the event was heard. */
  readonly isUsable: boolean;
  readonly detail: {
    readonly key?: string;
    readonly reason?: string;
    readonly by?: { readonly message?: string };
    readonly position?: number;
    readonly waiting?: number;
    readonly fence?: number;
    readonly holders?: readonly unknown[];
  };
}
