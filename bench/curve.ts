import { median } from './comparison.ts';

/** How a cost grows with a size. Of a linear cost, the interesting figure is the slope. */
export type Curve = {
  measure: string;
  unit: string;
  points: { size: number; cost: number; samples?: number[] }[];
  isLinear?: boolean;
};

/** The median of `runs` costs at each size. */
export async function measureCurve(
  { measure, unit, sizes, runs }: { measure: string; unit: string; sizes: number[]; runs: number },
  costOf: (size: number) => Promise<number>,
): Promise<Curve> {
  const points: Curve['points'] = [];
  for (const size of sizes) {
    const costs: number[] = [];
    for (let run = 0; run < runs; run++) costs.push(await costOf(size));
    points.push({ size, cost: median(costs), samples: costs });
  }
  return { measure, unit, points };
}

/**
 * The power of the size with which the cost grows, by least squares: 0 if it doesn't grow, 1 if twice the size costs
 * twice as much.
 */
export function exponent({ points }: Curve): number {
  return slopeOf(points.map(({ size, cost }) => ({ x: Math.log(size), y: Math.log(cost) })));
}

/** The growth of the cost when the size grows by 1, by least squares. */
export function slope({ points }: Curve): number {
  return slopeOf(points.map(({ size, cost }) => ({ x: size, y: cost })));
}

function slopeOf(points: { x: number; y: number }[]): number {
  const x = mean(points.map((point) => point.x));
  const y = mean(points.map((point) => point.y));
  const covariance = mean(points.map((point) => (point.x - x) * (point.y - y)));
  return covariance / mean(points.map((point) => (point.x - x) ** 2));
}

function mean(values: number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
