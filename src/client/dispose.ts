/**
 * `Symbol.asyncDispose`, or where a browser has none (Safari) the symbol that compilers and polyfills use in its place.
 * The global is left as it is.
 */
export const asyncDispose: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");
