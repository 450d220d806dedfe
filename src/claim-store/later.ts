/** Calls `run` in another turn, after all that the present one does and undoes. Returns what calls it off. */
export type Later = (run: () => void) => () => void;

export const nextTurn: Later = (run) => {
  const timer = setTimeout(run, 0);
  return () => clearTimeout(timer);
};
