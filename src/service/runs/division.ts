/** Tests that must run in one shard. */
export type Weighed = {
  /** The expected time of all its tests, in ms. */
  readonly weight: number;
  /** How many tests it has, and how many of them Playwright will run. */
  readonly tests: number;
  readonly active: number;
};

/** A shard to which units can be given. */
export type Receiver = { readonly index: number; readonly workers: number };

/** Gives each unit to the shard that would then end first, longest unit first. Returns the index of each unit's shard. */
export function divideByTime(units: readonly { weight: number }[], receivers: readonly Receiver[]): number[] {
  const loads = receivers.map(({ index, workers }) => ({ index, workers, weight: 0 }));
  const shards: number[] = Array.from({ length: units.length });
  for (const position of longestFirst(units)) {
    const { weight } = units[position]!;
    const end = (load: { weight: number; workers: number }) => (load.weight + weight) / load.workers;
    let best = loads[0]!;
    for (const load of loads) if (end(load) < end(best)) best = load;
    best.weight += weight;
    shards[position] = best.index;
  }
  return shards;
}

/**
 * Cuts the units in their order into parts with equally many tests. Playwright's `--shard` cuts at the same places, so the
 * parts are no less even than without this service.
 */
export function divideByCount(units: readonly Weighed[], receivers: readonly Receiver[]): number[] {
  const isActive = units.some(({ active }) => active > 0);
  const sizes = units.map(({ tests, active }) => (isActive ? active : tests));
  const all = sizes.reduce((sum, size) => sum + size, 0);
  const [least, more] = [Math.floor(all / receivers.length), all % receivers.length];
  const ends: number[] = [];
  for (const position of receivers.keys()) ends.push((ends.at(-1) ?? 0) + least + (position < more ? 1 : 0));
  let before = 0;
  return sizes.map((size) => {
    const at = size > 0 ? before : Math.max(before - 1, 0);
    before += size;
    return receivers[ends.findIndex((end) => at < end)]!.index;
  });
}

/**
 * The part of the work, in ms, for a shard that is free now, so that it and the others end together. The others become
 * free after `busyMs`.
 */
export function freeShare(work: number, workers: number, others: { workers: number; busyMs: number }[]): number {
  let [capacity, sum] = [workers, work];
  for (const other of others.toSorted((a, b) => a.busyMs - b.busyMs)) {
    if (sum <= other.busyMs * capacity) break;
    capacity += other.workers;
    sum += other.workers * other.busyMs;
  }
  return (sum / capacity) * workers;
}

/** The positions of the longest units that fit into `share` ms together; at least one. */
export function takeLongest(units: readonly { weight: number }[], share: number): number[] {
  let left = share;
  return longestFirst(units).filter((position, rank) => {
    const { weight } = units[position]!;
    // Half a millisecond for rounding.
    if (rank > 0 && weight > left + 0.5) return false;
    left -= weight;
    return true;
  });
}

/** The median of numbers. `undefined` if there are none. */
export function median(numbers: readonly number[]): number | undefined {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1
    ? sorted[middle]
    : sorted.length > 0
      ? (sorted[middle - 1]! + sorted[middle]!) / 2
      : undefined;
}

function longestFirst(units: readonly { weight: number }[]): number[] {
  return [...units.keys()].sort((a, b) => units[b]!.weight - units[a]!.weight || a - b);
}
