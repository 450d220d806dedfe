/**
 * `Symbol.asyncDispose` and `Symbol.dispose`, or where a browser has none (Safari) the symbols that compilers and polyfills use in
 * their place. The global is left as it is.
 */
export const asyncDispose: typeof Symbol.asyncDispose = Symbol.asyncDispose ?? Symbol.for("Symbol.asyncDispose");
export const dispose: typeof Symbol.dispose = Symbol.dispose ?? Symbol.for("Symbol.dispose");
