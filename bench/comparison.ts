/** The figures of a measure, one per run. */
export type Comparison = {
  /** The name of the measure, which is the key of its bar. */
  measure: string;
  unit: string;
  ours: number[];
  /**
   * The figures of the other side, from interleaved runs. The bar is then a ratio, otherwise it limits our own figure.
   */
  other?: number[];
  higherIsBetter?: boolean;
};

/** Measures one figure of each side. */
export type Sides = { ours: () => Promise<number>; other: () => Promise<number> };

/** Like `interleavedWithoutWarmUp`. If there are several runs, another pair before them warms up. */
export async function interleaved(runs: number, sides: Sides): Promise<{ ours: number[]; other: number[] }> {
  if (runs > 1) await interleavedWithoutWarmUp(1, sides);
  return await interleavedWithoutWarmUp(runs, sides);
}

/** Runs both sides in turn, so that other load on the machine affects both. */
export async function interleavedWithoutWarmUp(
  runs: number,
  sides: Sides,
): Promise<{ ours: number[]; other: number[] }> {
  const ours: number[] = [];
  const other: number[] = [];
  for (let run = 1; run <= runs; run++) {
    const [first, second] = run % 2 === 0 ? [sides.ours, sides.other] : [sides.other, sides.ours];
    const figures = [await first(), await second()];
    if (run % 2 !== 0) figures.reverse();
    ours.push(figures[0]!);
    other.push(figures[1]!);
  }
  return { ours, other };
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Sorted, smallest first. */
export function spread(values: number[]): string {
  return `${Math.min(...values).toFixed(1)}..${Math.max(...values).toFixed(1)}`;
}
