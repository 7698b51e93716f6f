import { startService } from '../../../src/service/service.ts';
import { envOf, expect, test } from '../../support/runs/pool-run.ts';
import { callerOf } from '../../support/service/service.ts';
import { main } from '../../support/service/service-process.ts';

const suite = `
  import { expect, test } from '@playwright/test';
  for (const word of ['one', 'two'])
    test(word, async ({ page }) => {
      await page.setContent(\`<button onclick="this.textContent = '\${word}'">go</button>\`);
      await page.getByRole('button').click();
      await expect(page.getByRole('button')).toHaveText(word);
    });`;

test('a suite of Playwright alone runs on a pool by run, and leaves no lease', async ({ run }) => {
  await using service = await startService();
  const call = callerOf(service);
  await call('POST', '/browser_pools', { name: 'ci', size: 1 });
  const { exitCode, stats, output } = await run({
    files: { 'a.spec.ts': suite },
    config: `reporter: [['line'], ['json']], use: { trace: 'on' },`,
    enter: [process.execPath, main, 'run', '--pool', 'ci', '--'],
    env: envOf(service),
  });
  expect({ exitCode, stats }, output).toEqual({ exitCode: 0, stats: { passed: 2, failed: 0, flaky: 0, skipped: 0 } });
  expect(output).not.toContain(service.apiKey);
  await expect.poll(async () => (await call('GET', '/browser_pools/ci')).body.acquired_count).toBe(0);
  const { body } = await call('GET', '/browsers?status=all');
  // Nothing launched a browser beside the pool.
  for (const { pool } of body as { pool?: { name: string } }[]) expect(pool?.name).toBe('ci');
});
