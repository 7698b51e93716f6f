import { readFile, writeFile } from 'node:fs/promises';
import { expect, test, type TestInfo } from '@playwright/test';
import { startService } from '../../../src/service/service.ts';
import { systemChromium } from '../../support/views/chromium.ts';
import { TestClock } from '../../support/service/clock.ts';
import { processesWith, sendSignal } from '../../support/processes/processes.ts';
import { callerOf } from '../../support/service/service.ts';

/** The status and the body of an answer. The caller sends no key. */
async function ask(url: string, path: string): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(url + path);
  return { status: answer.status, body: await answer.json() };
}

/** A Chromium that notes its starts, and their number. */
async function countedChromium(testInfo: TestInfo) {
  const [executable, log] = [testInfo.outputPath('chromium'), testInfo.outputPath('starts')];
  await writeFile(log, '', { mode: 0o666 });
  await writeFile(executable, `#!/bin/sh\necho >> ${log}\nexec ${await systemChromium()} "$@"\n`, { mode: 0o755 });
  return { executable, starts: async () => (await readFile(log, 'utf8')).length };
}

test('/readyz starts a single test browser for many callers, and none while a session runs', async ({}, testInfo) => {
  const { executable, starts } = await countedChromium(testInfo);
  const clock = new TestClock();
  await using service = await startService({ clock, chromium: { executable }, sessionUids: false });
  const ready = { status: 200, body: { status: 'ready' } };
  const answers = await Promise.all(Array.from({ length: 50 }, () => ask(service.url, '/readyz')));
  expect(answers).toEqual(answers.map(() => ready));
  clock.advance(50_000);
  expect(await ask(service.url, '/readyz')).toEqual(ready);
  expect(await starts()).toBe(1);

  const call = callerOf(service);
  const { body: session } = await call('POST', '/browsers', { timeout_seconds: 3600 });
  clock.advance(60_000);
  expect(await ask(service.url, '/readyz')).toEqual(ready);
  expect(await starts()).toBe(2);

  sendSignal(processesWith(session.session_id), 'SIGSTOP');
  clock.advance(5000);
  expect(await ask(service.url, '/readyz')).toEqual(ready);
  expect(await starts()).toBe(3);
  sendSignal(processesWith(session.session_id), 'SIGCONT');
  expect((await call('GET', '/browsers')).body).toHaveLength(1);
});

test('/readyz says why no browser starts, and recovers; /healthz answers meanwhile; neither leaves audit records', async ({}, testInfo) => {
  const executable = testInfo.outputPath('chromium');
  const clock = new TestClock();
  await using service = await startService({ clock, chromium: { executable }, sessionUids: false });
  expect(await ask(service.url, '/readyz')).toEqual({
    status: 503,
    body: { code: 'no_chromium', message: expect.stringContaining(executable) },
  });
  expect(await ask(service.url, '/healthz')).toEqual({ status: 200, body: { status: 'ok' } });
  await writeFile(executable, `#!/bin/sh\nexec ${await systemChromium()} "$@"\n`, { mode: 0o755 });
  expect((await ask(service.url, '/readyz')).status).toBe(503);
  clock.advance(5000);
  expect((await ask(service.url, '/readyz')).status).toBe(200);

  await fetch(`${service.url}/browsers`);
  const [start, end] = [-60_000, 60_000].map((ms) => new Date(clock.now() + ms).toISOString());
  const { body } = await callerOf(service)('GET', `/audit-logs?start=${start}&end=${end}`);
  expect(body.map(({ path }: { path: string }) => path)).toEqual(['/browsers']);
});

test('/readyz gives up on a browser that starts but never answers @long', async ({}, testInfo) => {
  const executable = testInfo.outputPath('chromium');
  await writeFile(executable, '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 });
  await using service = await startService({ chromium: { executable }, sessionUids: false });
  const began = Date.now();
  expect(await ask(service.url, '/readyz')).toMatchObject({ status: 503, body: { code: 'unavailable' } });
  expect(Date.now() - began).toBeLessThan(20_000);
});
