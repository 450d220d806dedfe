/** Turns of the event loop. A timer would wait for a ms. */

/** `isOver`: asked before each turn, whether the rest is not needed. */
export async function turnsOver(turns: number, isOver: () => boolean = () => false): Promise<void> {
  for (let turn = 0; turn < turns && !isOver(); turn++) {
    await new Promise<void>((resolve) => {
      setImmediate(resolve);
    });
  }
}
