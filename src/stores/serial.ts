/**
 * Where the numbers of a space go on from when nothing better is known: 1000 for each ms since 1970. Fences so rise
 * from start to start, also when the store's file was deleted or its kind was changed, as long as a space uses fewer than a
 * million numbers a second on average and the wall clock is not set back by more than the server was up.
 * Today that is near 1.8e15; safe integers end at 9.0e15, which the clock reaches in the year 2255. A clock that is
 * beyond 2112 is taken for wrong and counts as 2112, so that half of the numbers are always left.
 */
export function serialFromClock(wallMs: number): number {
  return Math.min(Math.floor(wallMs) * 1000, 2 ** 52);
}
