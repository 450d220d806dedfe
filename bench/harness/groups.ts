/** Who has its turn beside whom. */

/** Subjects that share a turn of their floor: it stands between those of the two, and is set against both. */
export interface Group<S> {
  /** Undefined: the scenario brings its own. */
  readonly floor: string | undefined;
  readonly members: readonly [S, S?];
}

export function groupsOf<S>(subjects: readonly S[], floorOf: (subject: S) => string | undefined): readonly Group<S>[] {
  return [...grouped(subjects, floorOf)].flatMap(([floor, all]) => {
    const size = floor === undefined ? 1 : 2;
    const starts = all.filter((_subject, index) => index % size === 0);
    return starts.map((first, index): Group<S> => {
      const second = size === 2 ? all[index * 2 + 1] : undefined;
      return { floor, members: second === undefined ? [first] : [first, second] };
    });
  });
}

/** In the order of their first ones. */
export function grouped<T, K>(items: readonly T[], keyOf: (item: T) => K): ReadonlyMap<K, readonly T[]> {
  const groups = new Map<K, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    groups.set(key, [...(groups.get(key) ?? []), item]);
  }
  return groups;
}

/** The two sides of the floor's turn in a round: now one and now the other comes first, as the machine drifts. */
export function sidesOf<S>(
  { members: [first, second] }: Group<S>,
  round: number,
): readonly [S | undefined, S | undefined] {
  return round % 2 === 0 ? [first, second] : [second, first];
}
