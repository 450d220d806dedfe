/** A reader of server-sent events: what arrives waits, in order, until a test asks for it. */

const PATIENCE_MS = 10_000;

export class TestEvents implements Disposable {
  readonly response: Response;
  readonly ended: Promise<void>;
  readonly #aborter: AbortController;
  // oxlint-disable-next-line typescript/no-explicit-any -- a test says what it expects, and fails where that is not so
  readonly #unread: any[] = [];
  #comments = 0;
  #wake: () => void = () => {};

  constructor(response: Response, aborter: AbortController) {
    this.response = response;
    this.#aborter = aborter;
    this.ended = this.#read().catch(() => undefined);
  }

  get comments(): number {
    return this.#comments;
  }

  /** The next state that a test wants; those before it are thrown away, since each is only the latest of its time. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  async next(isWanted: (state: any) => boolean = () => true): Promise<any> {
    const patientUntil = performance.now() + PATIENCE_MS;
    for (;;) {
      while (this.#unread.length > 0) {
        const state = this.#unread.shift();
        if (isWanted(state)) return state;
      }
      const leftMs = patientUntil - performance.now();
      if (leftMs <= 0) throw new Error("no such event came");
      const timer = setTimeout(() => this.#wake(), leftMs);
      await new Promise<void>((resolve) => (this.#wake = resolve));
      clearTimeout(timer);
    }
  }

  [Symbol.dispose](): void {
    this.#aborter.abort();
  }

  async #read(): Promise<void> {
    let text = "";
    const decoder = new TextDecoder();
    for await (const bytes of this.response.body ?? []) {
      text += decoder.decode(bytes, { stream: true });
      const blocks = text.split("\n\n");
      text = blocks.pop() ?? "";
      for (const block of blocks) this.#block(block);
      this.#wake();
    }
  }

  #block(block: string): void {
    const state = /^event: state\ndata: (.*)$/.exec(block)?.[1];
    if (state !== undefined) this.#unread.push(JSON.parse(state));
    else if (block.startsWith(":")) this.#comments++;
    else throw new Error(`no event: ${block}`);
  }
}

export async function openEvents(url: string): Promise<TestEvents> {
  const aborter = new AbortController();
  return new TestEvents(await fetch(url, { signal: aborter.signal }), aborter);
}
