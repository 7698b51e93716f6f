import { appendFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'playwright-pool';

// Prints the duration of actions in milliseconds, each as often as BENCH_RUNS says.
const runs = Number(process.env['BENCH_RUNS']);

test.describe('a lease for each test', () => {
  test.use({ poolLease: 'test' });

  // The first test has the browser that the worker leased when it started.
  for (let number = 0; number <= runs; number++) {
    test(`lease ${number}`, async ({ browser }) => {
      const leaseAndOpen = async () => {
        const page = await (await browser.newContext()).newPage();
        await page.goto(process.env['BENCH_URL']!);
      };
      if (number === 0) await leaseAndOpen();
      else await time('lease', leaseAndOpen);
      // Lets the pool fill again.
      await setTimeout(500);
    });
  }
});

test('actions', async ({ page, context }) => {
  test.setTimeout(120_000);
  await page.setContent('<button>Save</button><input>');
  const warmUp = 1;
  for (let run = -warmUp; run < runs; run++) {
    const measure = run < 0 ? (_name: string, act: () => Promise<unknown>) => act() : time;
    await measure('click', () => page.getByRole('button').click());
    await measure('fill', () => page.getByRole('textbox').fill(`text ${run}`));
    await measure('page', () => context.newPage());
  }
  await expect(page.getByRole('textbox')).toHaveValue(`text ${runs - 1}`);
});

async function time(name: string, act: () => Promise<unknown>): Promise<void> {
  const started = performance.now();
  await act();
  appendFileSync(process.env['BENCH_TIMES']!, `${name} ${performance.now() - started}\n`);
}
