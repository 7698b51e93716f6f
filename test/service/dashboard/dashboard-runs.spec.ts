import { expect } from '@playwright/test';
import { TestClock } from '../../support/service/clock.ts';
import { SampleRun } from '../../support/runs/sample-run.ts';
import { expectAccessible } from '../../support/views/axe.ts';
import { expectNoOverflow, hostile, rowsOf, test as base } from '../../support/views/dashboard.ts';

const test = base.extend<{ clock: TestClock }>({
  clock: async ({}, use) => use(new TestClock()),
  serviceOptions: async ({ clock }, use) => use({ clock }),
});

test('Runs: shows shards, failures and flaky tests of a run while it goes on', async ({ open, client, clock }) => {
  const run = new SampleRun(client, 'nightly-7');
  await run.start(1, { title: hostile });
  clock.advance(65_000);
  await run.endFirst();
  await run.start(2);
  const page = await open('runs');
  await expect(rowsOf(page)).toContainText(['nightly-7']);
  await expect(rowsOf(page)).toContainText('2 of 6 tests');
  await page.getByRole('link', { name: 'nightly-7' }).press('Enter');

  await expect(page.getByRole('main').getByRole('status')).toHaveText('running');
  const shards = rowsOf(page).filter({ has: page.getByText(/^\d of 3$/) });
  await expect(shards).toContainText([
    /1 of 3.*2 of 2 tests.*1 min 5 s.*Ended/i,
    /2 of 3.*0 of 2 tests.*running/i,
    /3 of 3.*expected/i,
  ]);
  const failures = page.getByRole('list', { name: 'Failed tests' });
  await expect(failures).toContainText(hostile.slice(0, 40));
  await expect(failures).toContainText('expected <b> & "c"');
  await expect(failures).toContainText('test-results/trace.zip');
  await expect(failures.getByRole('link', { name: 'Replay' })).toHaveAttribute('href', 'http://127.0.0.1:9/replays/1');
  await expectAccessible(page);
  await expectNoOverflow(page);
  await expectAccessible(page);
  await page.setViewportSize({ width: 1280, height: 800 });

  clock.advance(60_000);
  await expect(shards.nth(1)).toContainText('lost');
  await run.takeOver();
  await expect(shards.first()).toContainText(/6 of 6 tests.*1.*4/);
  await expect(shards.last()).toContainText('absent');
  await expect(page.getByRole('main').getByRole('status')).toHaveText('failed');
  await expect(rowsOf(page).filter({ hasText: 'signs in' })).toContainText('1 min 5 s');
  await expect(page.getByText('No test was flaky in the last 30 runs.')).toBeVisible();

  const next = new SampleRun(client, 'nightly-8');
  await next.start(1);
  await next.start(2);
  await next.report('member-2', [{ test: 'logs out', flaky: true }]);
  await page.getByRole('link', { name: 'Back' }).click();
  await expect(rowsOf(page)).toContainText(['nightly-8', 'nightly-7']);
  await expectAccessible(page);
  await expect(rowsOf(page).last()).toContainText('failed');
  await page.getByRole('link', { name: 'nightly-8' }).click();
  await expect(rowsOf(page).filter({ hasText: 'logs out' }).last()).toContainText('1 run');
});
