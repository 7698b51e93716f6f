/** Figures of both sides, of interleaved runs. */
export type Comparison = {
  /** What is measured: the key of its bar. */
  measure: string;
  unit: string;
  ours: number[];
  other: number[];
  higherIsBetter?: boolean;
};

/** Runs both sides in turn, so that what else the machine does meets both. The first pair only warms up where there are more. */
export async function interleaved(
  runs: number,
  sides: { ours: () => Promise<number>; other: () => Promise<number> },
): Promise<Pick<Comparison, 'ours' | 'other'>> {
  const ours: number[] = [];
  const other: number[] = [];
  for (let run = runs > 1 ? 0 : 1; run <= runs; run++) {
    const [first, second] = run % 2 === 0 ? [sides.ours, sides.other] : [sides.other, sides.ours];
    const figures = [await first(), await second()];
    if (run % 2 !== 0) figures.reverse();
    if (run === 0) continue;
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

/** From the smallest to the largest. */
export function spread(values: number[]): string {
  return `${Math.min(...values).toFixed(1)}..${Math.max(...values).toFixed(1)}`;
}
