import { expect, expectOneHolderEach, pidIn, prelude, test } from '../support/runs/fault-runs.ts';
import { isLong } from '../support/processes/long-form.ts';

// However a worker ends, the pool has its browser back at once, and no other worker got it before.

test('workers that are killed, exit or throw leave their browsers to new workers @long', async ({ start, hosted }) => {
  const suite = `${prelude}
    test.describe.configure({ mode: 'parallel' });
    const bodies = {
      killed: () => process.kill(process.pid, 'SIGKILL'),
      exits: () => process.exit(3),
      throws: () => { setImmediate(() => { throw new Error('thrown by nobody'); }); },
      passes: () => {},
    };
    for (const [title, body] of Object.entries(bodies)) {
      test(title, async ({ page }) => {
        body();
        await page.waitForTimeout(200);
        await page.evaluate(1);
      });
    }`;
  const run = start({
    files: { 'workers.spec.ts': suite },
    args: ['--workers=2'],
    ...hosted.options({ size: 2, pool: `release: 'reuse'` }),
  });
  const { output, results } = await run.finished();
  const statuses = Object.entries(results).map(([title, attempts]) => [title, attempts.map(({ status }) => status)]);
  expect(Object.fromEntries(statuses)).toEqual({
    killed: ['failed'],
    exits: ['failed'],
    throws: ['failed'],
    passes: ['passed'],
  });
  expect(output).toMatch(/leases: (\d+) acquired, \1 released, 0 leaked/);
  expectOneHolderEach(run.directory);
});

test('--max-failures ends workers in the middle of tests, and their browsers are returned @long', async ({
  start,
  hosted,
}) => {
  const suite = `${prelude}
    test.describe.configure({ mode: 'parallel' });
    test('goes on', async ({ page }) => { writeFileSync(join(here, 'there'), ''); await page.waitForTimeout(30_000); });
    test('fails', async ({ page }) => {
      await expect.poll(() => existsSync(join(here, 'there')), { timeout: 15_000 }).toBe(true);
      throw new Error('thrown on purpose');
    });`;
  const args = ['--workers=2', '--max-failures=1'];
  const { output, results } = await start({
    files: { 'max.spec.ts': suite },
    args,
    ...hosted.options({ size: 2 }),
  }).finished();
  expect(results['goes on']?.map(({ status }) => status)).toEqual(['interrupted']);
  expect(output).toContain('leases: 2 acquired, 2 released, 0 leaked');
});

test('globalTimeout ends a worker in an endless loop, and its browser is returned', async ({ start, hosted }) => {
  test.skip(!isLong);
  const suite = `${prelude}
    test('spins', async () => {
      console.log('spins: ' + process.pid);
      for (;;);
    });`;
  const { config, env } = hosted.options();
  const run = start({ files: { 'spins.spec.ts': suite }, config: `globalTimeout: 15_000, ${config}`, env });
  await run.finished();
  await expect.poll(hosted.leased, { timeout: 15_000 }).toBe(0);
  // Playwright doesn't end such a worker.
  process.kill(pidIn(run.output, 'spins'), 'SIGKILL');
});

test('a waiting test gets the browser of a worker in an endless loop after the idle timeout', async ({
  start,
  hosted,
}) => {
  test.skip(!isLong);
  const suite = `${prelude}
    test.describe.configure({ mode: 'parallel' });
    test('spins', async () => { writeFileSync(join(here, 'spins'), String(process.pid)); for (;;); });
    test('waits', async () => {});`;
  const waiting = `${prelude}
    test.beforeAll(() => expect.poll(() => existsSync(join(here, 'spins')), { timeout: 20_000 }).toBe(true));
    test('waits', async () => console.log('spinning worker: ' + readFileSync(join(here, 'spins'), 'utf8')));`;
  const run = start({
    files: {
      'a.spec.ts': suite.replace("test('waits', async () => {});", ''),
      'b.spec.ts': `import { readFileSync } from 'node:fs';${waiting}`,
    },
    args: ['--workers=2'],
    env: hosted.options().env!,
    config: `use: { pool: { name: 'ci', size: 1, browsers: { timeoutSeconds: 10 } } },`,
  });
  await expect.poll(() => run.output, { timeout: 60_000 }).toContain('spinning worker: ');
  process.kill(pidIn(run.output, 'spinning worker'), 'SIGKILL');
  expect((await run.finished()).results['waits']?.map(({ status }) => status)).toEqual(['passed']);
});
