/** Why a store cannot be used. The message is one line for whoever started the server. */

export type StoreErrorCode =
  /** Another server has the file open. */
  | "in_use"
  /** Written by a newer Latchkey, or not by Latchkey at all. */
  | "foreign"
  /** A row cannot be read: whoever serves without it may grant a lock twice. */
  | "damaged"
  /** The file cannot be opened or written. */
  | "unavailable";

export class StoreError extends Error {
  readonly code: StoreErrorCode;

  constructor(code: StoreErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StoreError";
    this.code = code;
  }
}
