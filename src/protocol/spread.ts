/** Which of the objects that a space is spread over has a key. Server and clients must agree on it for ever. */

/** FNV-1a over the two bytes of each code unit: keys are compared code unit by code unit, so they are hashed so. */
export function partOf(key: string, spread: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) {
    const unit = key.charCodeAt(i);
    hash = Math.imul(hash ^ (unit & 0xff), 0x01000193);
    hash = Math.imul(hash ^ (unit >>> 8), 0x01000193);
  }
  return (hash >>> 0) % spread;
}
