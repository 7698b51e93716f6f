import { readFile, writeFile } from 'node:fs/promises';
import { startService } from '../../../src/service/service.ts';
import { systemChromium } from '../../support/views/chromium.ts';
import { TestClock } from '../../support/service/clock.ts';
import { processesWith, sendSignal } from '../../support/processes/processes.ts';
import { callerOf } from '../../support/service/service.ts';
import { expect, test } from '../../support/worker.ts';

/** The status and the body of an answer. The caller sends no key. */
async function ask(url: string, path: string): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(url + path);
  return { status: answer.status, body: await answer.json() };
}

test('/readyz says why no browser starts, and recovers; /healthz answers meanwhile', async ({}, testInfo) => {
  const [executable, log] = [testInfo.outputPath('chromium'), testInfo.outputPath('starts')];
  const clock = new TestClock();
  await using service = await startService({ clock, chromium: { executable }, sessionUids: false });
  const engines = [{ engine: 'chromium', source: 'option', version: expect.stringMatching(/^\d+\./) }];
  const ready = { status: 200, body: { status: 'ready', engines } };
  const isReady = async () => expect(await ask(service.url, '/readyz')).toMatchObject(ready);
  expect(await ask(service.url, '/readyz')).toEqual({
    status: 503,
    body: { code: 'no_chromium', message: expect.stringContaining(executable) },
  });
  expect(await ask(service.url, '/healthz')).toEqual({ status: 200, body: { status: 'ok' } });
  await writeFile(log, '', { mode: 0o666 });
  await writeFile(executable, `#!/bin/sh\necho >> ${log}\nexec ${await systemChromium()} "$@"\n`, { mode: 0o755 });
  const starts = async () => (await readFile(log, 'utf8')).length;
  expect((await ask(service.url, '/readyz')).status).toBe(503);

  await test.step('a single test browser starts for many callers', async () => {
    clock.advance(5000);
    const answers = await Promise.all(Array.from({ length: 50 }, () => ask(service.url, '/readyz')));
    expect(answers).toMatchObject(answers.map(() => ready));
    clock.advance(50_000);
    await isReady();
    expect(await starts()).toBe(1);
  });

  const call = callerOf(service);
  await test.step('no test browser starts while a session runs that answers', async () => {
    const { body: session } = await call('POST', '/browsers', { timeout_seconds: 3600 });
    clock.advance(60_000);
    await isReady();
    expect(await starts()).toBe(2);
    sendSignal(processesWith(session.session_id), 'SIGSTOP');
    clock.advance(5000);
    await isReady();
    expect(await starts()).toBe(3);
    sendSignal(processesWith(session.session_id), 'SIGCONT');
    expect((await call('GET', '/browsers')).body).toHaveLength(1);
  });

  await test.step('neither path leaves audit records', async () => {
    const [start, end] = [-600_000, 60_000].map((ms) => new Date(clock.now() + ms).toISOString());
    const { body } = await call('GET', `/audit-logs?start=${start}&end=${end}`);
    expect(body.map(({ path }: { path: string }) => path)).toEqual(['/browsers', '/browsers']);
  });
});

test('/readyz gives up on a browser that starts but never answers @long', async ({}, testInfo) => {
  const executable = testInfo.outputPath('chromium');
  await writeFile(executable, '#!/bin/sh\nexec sleep 60\n', { mode: 0o755 });
  await using service = await startService({ chromium: { executable }, sessionUids: false });
  const began = Date.now();
  expect(await ask(service.url, '/readyz')).toMatchObject({ status: 503, body: { code: 'unavailable' } });
  expect(Date.now() - began).toBeLessThan(20_000);
});
