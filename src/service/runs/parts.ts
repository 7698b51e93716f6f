import type { BodyOutput } from '../../contract/operation.ts';
import type { testRuns } from '../../contract/test-runs.ts';
import { divideByCount, divideByTime, median, type Receiver } from './division.ts';
import type { Planned } from './run-records.ts';

/** Tests that must run in one shard, as a shard sends them. */
export type Unit = BodyOutput<typeof testRuns.plan>['units'][number];

/** New tests of a unit. `beside` is a test of the same unit that the plan has already. */
type NewUnit = { tests: Unit; beside: Planned | undefined };

type Known = ReadonlyMap<string, { readonly id: number; readonly usual: number | undefined }>;

/** The tests that the plan doesn't have and `isLeftOut` doesn't refuse. Each appears once. */
export function newUnits(
  units: readonly Unit[],
  planned: ReadonlyMap<string, Planned>,
  isLeftOut: (test: string) => boolean,
): NewUnit[] {
  const seen = new Set<string>();
  const isNew = ({ id }: { id: string }) => !planned.has(id) && !isLeftOut(id) && !seen.has(id) && seen.add(id);
  return units.flatMap((unit) => {
    const tests = unit.filter(isNew);
    if (tests.length === 0) return [];
    const other = tests.length < unit.length ? unit.find(({ id }) => planned.has(id)) : undefined;
    return [{ tests, beside: other && planned.get(other.id) }];
  });
}

/** The expected times of tests in ms, by their earlier runs. If no test has one, each counts 1. */
export function expectedTimes(tests: Unit, known: Known) {
  const all: number[] = [];
  const byProject = new Map<string, number[]>();
  for (const { id, project, skipped } of tests) {
    const usual = known.get(id)!.usual;
    if (usual === undefined || skipped) continue;
    all.push(usual);
    const ofProject = byProject.get(project);
    if (ofProject) ofProject.push(usual);
    else byProject.set(project, [usual]);
  }
  const medians = new Map(Array.from(byProject, ([project, times]) => [project, median(times)] as const));
  const usualOfAll = median(all) ?? 1;
  return {
    isTimed: all.length > 0,
    of: ({ id, project, skipped }: Unit[number]) =>
      skipped ? 0 : Math.round(known.get(id)!.usual ?? medians.get(project) ?? usualOfAll),
  };
}

/** Divides new tests between shards, by their expected times or by their number. `firstUnit` numbers the units. */
export function divide(
  units: readonly NewUnit[],
  options: { known: Known; receivers: readonly Receiver[]; isByCount: boolean; firstUnit: number },
): Omit<Planned, 'member'>[] {
  const { known, receivers, isByCount, firstUnit } = options;
  const times = expectedTimes(
    units.flatMap(({ tests }) => tests),
    known,
  );
  const free = units.filter(({ beside }) => !beside);
  const weighed = free.map(({ tests }) => ({
    weight: tests.reduce((sum, test) => sum + times.of(test), 0),
    tests: tests.length,
    active: tests.filter(({ skipped }) => !skipped).length,
  }));
  const shards = (isByCount ? divideByCount : divideByTime)(weighed, receivers);
  const places = new Map(
    free.map((unit, position) => [unit, { unit: firstUnit + position, shard: shards[position]! }]),
  );
  return units.flatMap((unit) => {
    const { unit: number, shard } = unit.beside ?? places.get(unit)!;
    return unit.tests.map((test) => ({ test: known.get(test.id)!.id, unit: number, shard, weight: times.of(test) }));
  });
}
