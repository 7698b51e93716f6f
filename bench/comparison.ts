/** The figures of a measure, one a run. */
export type Comparison = {
  /** What is measured: the key of its bar. */
  measure: string;
  unit: string;
  ours: number[];
  /** Those of the other side, of interleaved runs: the bar is a ratio. Without them it is a bar for our own figure. */
  other?: number[];
  higherIsBetter?: boolean;
};

/** What takes one figure of each side. */
export type Sides = { ours: () => Promise<number>; other: () => Promise<number> };

/** As `interleavedCold`, and before it one pair of runs that only warms up where there are more. */
export async function interleaved(runs: number, sides: Sides): Promise<{ ours: number[]; other: number[] }> {
  if (runs > 1) await interleavedCold(1, sides);
  return await interleavedCold(runs, sides);
}

/** Runs both sides in turn, so that what else the machine does meets both. */
export async function interleavedCold(runs: number, sides: Sides): Promise<{ ours: number[]; other: number[] }> {
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

/** From the smallest to the largest. */
export function spread(values: number[]): string {
  return `${Math.min(...values).toFixed(1)}..${Math.max(...values).toFixed(1)}`;
}
