import { readFileSync } from 'node:fs';
import { expect, test, type Browser } from 'playwright-pool';
import { processesWith, sendSignal } from '../processes.ts';

const reapers = () => processesWith(`run-${process.ppid} ${process.ppid}`);

async function killService(browser: Browser, others: number[] = []): Promise<void> {
  const file = readFileSync(`${process.env['PLAYWRIGHT_POOL_DATA_DIR']}/service.json`, 'utf8');
  sendSignal([(JSON.parse(file) as { pid: number }).pid, ...others], 'SIGKILL');
  await expect.poll(() => browser.isConnected()).toBe(false);
}

test('kills the service', async ({ page, browser }) => {
  await page.setContent('x');
  await killService(browser);
});

test('kills the service and the reaper', async ({ page, browser }) => {
  await page.setContent('x');
  await killService(browser, reapers());
  await expect.poll(reapers).toEqual([]);
});

test('works', async ({ page }, { workerIndex }) => {
  expect(workerIndex).toBe(0);
  await page.setContent('y');
  expect(reapers()).toHaveLength(1);
});
