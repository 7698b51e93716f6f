import { IdleTimeout } from '../../../src/service/sessions/idle-timeout.ts';
import { TestClock } from '../../support/service/clock.ts';
import { expect, test } from '../../support/worker.ts';

test('a session whose timer fires late has 6 more seconds, because the machine may have slept', () => {
  const clock = new TestClock();
  let ended = 0;
  const idle = new IdleTimeout(clock, () => (ended += 1));
  const sleep = (ms: number) => {
    idle.start(60);
    // The timer is due at the same moment, but the clock shows a later time.
    clock.jump(ms);
    clock.advance(60_000);
  };
  sleep(1000);
  expect(ended).toBe(1);
  sleep(1001);
  expect(ended).toBe(1);
  clock.advance(5999);
  expect(ended).toBe(1);
  clock.advance(1);
  expect(ended).toBe(2);
});

test('a clock that goes back does not lengthen the idle timeout', () => {
  const clock = new TestClock();
  let ended = 0;
  const idle = new IdleTimeout(clock, () => (ended += 1));
  clock.advance(50_000);
  idle.start(60);
  clock.jump(-3_600_000);
  clock.advance(60_000);
  clock.advance(60_000);
  expect(ended).toBe(1);
  expect(idle.idleMs).toBeGreaterThanOrEqual(60_000);
});
