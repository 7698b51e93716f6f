import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test, type RemoteSession } from 'playwright-pool';
import { processesWith, sendSignal } from '../processes.ts';

const processesOf = (session: RemoteSession) => processesWith(`/${session.id}/`);

test('killed', async ({ page, remote: { session } }) => {
  sendSignal(processesOf(session), 'SIGKILL');
  for (;;) await page.evaluate('1');
});

test('stopped', async ({ page, remote: { session } }) => {
  test.setTimeout(2000);
  sendSignal(processesOf(session), 'SIGSTOP');
  await page.evaluate('1');
});

test('stops its own at its end', ({ remote: { session } }) => sendSignal(processesOf(session), 'SIGSTOP'));

test('killed while it opens a page', async ({ browser, remote: { session } }) => {
  const context = await browser.newContext();
  const pids = processesOf(session);
  const opening = context.newPage().then(
    () => 'ends',
    () => 'ends',
  );
  await sleep(20);
  sendSignal(pids, 'SIGKILL');
  expect(await Promise.race([opening, sleep(10_000)])).toBe('ends');
});

let between: RemoteSession;
test('opens another', async ({ page, remote: { session } }) => {
  between = session;
  await page.setContent('x');
});
test('freezes it without a page', () => sendSignal(processesOf(between), 'SIGSTOP'));

test('works', async ({ page }, { workerIndex }) => {
  expect(workerIndex).toBe(2);
  await page.setContent('x');
});
