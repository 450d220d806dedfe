/**
 * A 64-bit FNV-1a hash over plain values. Property names are taken in sorted order, so equal values hash alike however
 * they were built, and the same run gives the same digest on every runtime. The 64 bits are two 32-bit halves, since
 * BigInt would cost more than the simulation itself.
 */
export class Hash {
  #high = 0xcbf29ce4;
  #low = 0x84222325;

  add(value: unknown): void {
    switch (typeof value) {
      case "string":
        this.#text("s");
        this.#text(value);
        break;
      case "number":
        this.#text("n");
        this.#text(String(value));
        break;
      case "boolean":
        this.#text(value ? "t" : "f");
        break;
      case "object":
        if (value === null) this.#text("0");
        else if (Array.isArray(value)) this.#list(value);
        else this.#properties(value);
        break;
      default:
        this.#text("u");
    }
    this.#byte(0xff);
  }

  digest(): string {
    return this.#high.toString(16).padStart(8, "0") + this.#low.toString(16).padStart(8, "0");
  }

  #list(values: readonly unknown[]): void {
    this.#text("[");
    for (const value of values) this.add(value);
  }

  #properties(value: object): void {
    this.#text("{");
    for (const name of Object.keys(value).sort()) {
      this.#text(name);
      this.add((value as Record<string, unknown>)[name]);
    }
  }

  #text(text: string): void {
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i);
      if (unit > 0xff) this.#byte(unit >>> 8);
      this.#byte(unit & 0xff);
    }
  }

  // The prime is 2⁴⁰ + 435: times 435 in both halves, plus the low half shifted into the high one.
  #byte(byte: number): void {
    const low = (this.#low ^ byte) >>> 0;
    const product = low * 435;
    const rest = product >>> 0;
    this.#high = (this.#high * 435 + (product - rest) / 0x1_0000_0000 + (low << 8)) >>> 0;
    this.#low = rest;
  }
}
