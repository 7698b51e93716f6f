/** In pixels of the screen, from its top left corner. */
export type Point = { x: number; y: number };

/** A point on the mouse's way, and the pause before it, in ms. */
export type Waypoint = Point & { pause: number };

/** How the mouse moves: the fields of the operations for moves and drags. */
type Manner = { smooth: boolean; duration_ms?: number | undefined; steps_per_segment: number; step_delay_ms: number };

/** The time between two mouse moves, in ms: a page handles about one move per frame. */
const frameMs = 20;

/**
 * Yields the points of a mouse movement: on straight lines from corner to corner, at an even pace. The lines are exact,
 * so that elements beside them never get a mouse event.
 */
export function* pathThrough(corners: Point[], manner: Manner): Generator<Waypoint> {
  const lengths = corners.slice(1).map((corner, index) => distance(corners[index]!, corner));
  const steps = stepsOf(lengths, manner);
  const total = steps.reduce((sum, count) => sum + count, 0);
  const pause = manner.smooth ? (manner.duration_ms ?? 0) / total : manner.step_delay_ms;
  for (const [segment, count] of steps.entries()) {
    const [from, to] = [corners[segment]!, corners[segment + 1]!];
    for (let step = 1; step <= count; step++) yield { ...between(from, to, step / count), pause };
  }
}

/** The number of points of each segment. */
function stepsOf(lengths: number[], { smooth, duration_ms, steps_per_segment }: Manner): number[] {
  if (!smooth) return lengths.map(() => steps_per_segment);
  if (duration_ms === undefined) return lengths.map((length) => Math.max(5, Math.ceil(length / 100)));
  const whole = lengths.reduce((sum, length) => sum + length, 0) || 1;
  return lengths.map((length) => Math.max(1, Math.round((duration_ms / frameMs) * (length / whole))));
}

function between(from: Point, to: Point, share: number): Point {
  return { x: Math.round(from.x + (to.x - from.x) * share), y: Math.round(from.y + (to.y - from.y) * share) };
}

function distance(a: Point, b: Point): number {
  return Math.hypot(b.x - a.x, b.y - a.y);
}
