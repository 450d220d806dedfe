/**
 * A sum by which a damaged row is known: FNV-1a, four bytes at a time. Any one part that is another makes another sum. It is for disks
 * that err, and no protection from anybody who wants to deceive.
 */

const BASIS = 0x811c9dc5;
const PRIME = 0x01000193;

/** A whole number below 2^32. */
export function checksum(text: string, bytes: Uint8Array = new Uint8Array()): number {
  let sum = BASIS;
  for (let at = 0; at < text.length; at++) sum = next(sum, text.charCodeAt(at));
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const evenBytes = bytes.byteLength & ~3;
  for (let at = 0; at < evenBytes; at += 4) sum = next(sum, view.getInt32(at));
  for (let at = evenBytes; at < bytes.byteLength; at++) sum = next(sum, view.getUint8(at));
  return next(sum, bytes.byteLength) >>> 0;
}

function next(sum: number, part: number): number {
  return Math.imul(sum ^ part, PRIME);
}
