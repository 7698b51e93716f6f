import { divideByCount, divideByTime, freeShare, median, takeLongest } from '../../../src/service/runs/division.ts';
import { expect, test } from '../../support/worker.ts';

const shards = (...workers: number[]) => workers.map((count, position) => ({ index: position + 1, workers: count }));
const weighed = (weights: number[]) => weights.map((weight) => ({ weight, tests: 1, active: 1 }));

for (const { title, weights, workers, parts } of [
  { title: 'one unit', weights: [5], workers: [1, 1], parts: [1] },
  { title: 'longest first', weights: [1, 2, 3, 4], workers: [1, 1], parts: [1, 2, 2, 1] },
  { title: 'a unit longer than the average', weights: [1, 1, 9, 1], workers: [1, 1], parts: [2, 2, 1, 2] },
  { title: 'more workers get more', weights: [2, 2, 2, 2], workers: [3, 1], parts: [1, 1, 1, 2] },
  { title: 'equal units in turn', weights: [1, 1, 1, 1], workers: [1, 1], parts: [1, 2, 1, 2] },
  { title: 'skipped tests take no time', weights: [0, 4, 4], workers: [1, 1], parts: [1, 1, 2] },
  { title: 'no units', weights: [], workers: [1, 1], parts: [] },
])
  test(`divides by time: ${title}`, () => {
    expect(divideByTime(weighed(weights), shards(...workers))).toEqual(parts);
  });

for (const { title, units, total, parts } of [
  { title: 'equal parts', units: ['a', 'b', 'c', 'd'], total: 2, parts: [1, 1, 2, 2] },
  { title: 'the first shards get the rest', units: ['a', 'b', 'c', 'd', 'e'], total: 2, parts: [1, 1, 1, 2, 2] },
  {
    title: 'a unit belongs to the shard of its first test',
    units: ['a', 'bbb', 'c', 'd'],
    total: 2,
    parts: [1, 1, 2, 2],
  },
  {
    title: 'skipped tests go with the test before',
    units: ['-', 'a', '-', 'b', '-'],
    total: 2,
    parts: [1, 1, 1, 2, 2],
  },
  { title: 'skipped tests only', units: ['-', '-'], total: 2, parts: [1, 2] },
  { title: 'fewer units than shards', units: ['a', 'b'], total: 3, parts: [1, 2] },
  { title: 'no units', units: [], total: 3, parts: [] },
])
  test(`divides by count: ${title}`, () => {
    const counted = units.map((text) => ({
      weight: 0,
      tests: text.length,
      active: text.replaceAll('-', '').length,
    }));
    expect(divideByCount(counted, shards(...Array.from({ length: total }, () => 1)))).toEqual(parts);
  });

for (const { title, work, workers, others, share } of [
  { title: 'nobody else', work: 10, workers: 1, others: [], share: 10 },
  { title: 'two free shards', work: 10, workers: 1, others: [{ workers: 1, busyMs: 0 }], share: 5 },
  { title: 'more workers', work: 9, workers: 2, others: [{ workers: 1, busyMs: 0 }], share: 6 },
  { title: 'one that is free soon', work: 10, workers: 1, others: [{ workers: 1, busyMs: 4 }], share: 7 },
  { title: 'one that is busy for too long', work: 10, workers: 1, others: [{ workers: 1, busyMs: 10 }], share: 10 },
])
  test(`shares work so that all end together: ${title}`, () => {
    expect(freeShare(work, workers, others)).toBeCloseTo(share);
  });

test('takes the longest units that fit, and at least one', () => {
  expect(takeLongest(weighed([1, 5, 3, 2]), 6)).toEqual([1, 0]);
  expect(takeLongest(weighed([9]), 1)).toEqual([0]);
  expect(takeLongest(weighed([4, 4]), 7.4)).toEqual([0]);
  expect(takeLongest(weighed([0, 4, 0]), 4)).toEqual([1, 0, 2]);
});

test('the median of an even number of values is between the middle ones', () => {
  expect([median([]), median([3]), median([4, 1, 100]), median([1, 2, 10, 20])]).toEqual([undefined, 3, 4, 6]);
});
