/** Clients come back within this time after a drain, each at its own moment. */
const RETURN_WITHIN_MS = 5000;
const RETURN_AFTER_MS = 250;

export function returnAfterMs(): number {
  return RETURN_AFTER_MS + Math.floor(Math.random() * (RETURN_WITHIN_MS - RETURN_AFTER_MS));
}
