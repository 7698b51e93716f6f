import { median } from './comparison.ts';

/** How a cost grows with a size. */
export type Curve = { measure: string; unit: string; points: { size: number; cost: number }[] };

/** The median of `runs` costs at each size. */
export async function measureCurve(
  { measure, unit, sizes, runs }: { measure: string; unit: string; sizes: number[]; runs: number },
  costOf: (size: number) => Promise<number>,
): Promise<Curve> {
  const points: Curve['points'] = [];
  for (const size of sizes) {
    const costs: number[] = [];
    for (let run = 0; run < runs; run++) costs.push(await costOf(size));
    points.push({ size, cost: median(costs) });
  }
  return { measure, unit, points };
}

/** The power of the size that the cost grows with: 0 where it does not grow, 1 where twice the size costs twice as much. By least squares. */
export function exponent({ points }: Curve): number {
  const logs = points.map(({ size, cost }) => ({ x: Math.log(size), y: Math.log(cost) }));
  const x = mean(logs.map((point) => point.x));
  const y = mean(logs.map((point) => point.y));
  const covariance = mean(logs.map((point) => (point.x - x) * (point.y - y)));
  return covariance / mean(logs.map((point) => (point.x - x) ** 2));
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
