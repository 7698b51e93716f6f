import { OperationError } from '../../../src/contract/errors.ts';
import { LaunchPause } from '../../../src/service/pools/launch-pause.ts';
import { TestClock } from '../../support/service/clock.ts';
import { expect, test } from '../../support/worker.ts';

test('a pause after a failed launch doubles up to 10 s, and acquires fail from the third failure on', () => {
  const clock = new TestClock();
  let ended = 0;
  const pause = new LaunchPause(clock, () => (ended += 1));
  const pauses: [ms: number | undefined, isHopeless: boolean][] = [];
  const fail = (error: Error) => {
    pause.begin(error);
    pauses.push([clock.pending()[0], pause.isHopeless]);
    clock.advance(clock.pending()[0]!);
  };
  for (let failure = 0; failure < 6; failure += 1) fail(new Error('no memory'));
  expect(pauses).toEqual([
    [500, false],
    [1000, false],
    [2000, true],
    [4000, true],
    [8000, true],
    [10_000, true],
  ]);
  expect([ended, pause.isOn]).toEqual([6, false]);
  expect(pause.error('ci')).toMatchObject({
    code: 'unavailable',
    message: 'the pool ci cannot launch browsers: no memory',
  });

  pause.end();
  expect([pause.error('ci'), pause.isHopeless]).toEqual([undefined, false]);
  pause.begin(new OperationError('no_chromium', 'no Chromium'));
  // A second failure during the pause doesn't start another one.
  pause.begin(new OperationError('no_chromium', 'no Chromium'));
  expect([clock.pending(), pause.isHopeless]).toEqual([[500], true]);
  expect(pause.error('ci')).toMatchObject({ code: 'no_chromium' });
});
