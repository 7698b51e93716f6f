import { expect } from '@playwright/test';
import { createClient } from '../../src/client/index.ts';
import { CliProcess } from '../support/service-process.ts';
import { reading, runningCount, shellIn, test, uniqueSleep } from '../support/session-processes.ts';

const hasUsers = process.platform === 'linux' && process.getuid?.() === 0;

test.skip(process.platform !== 'linux', 'other systems find no processes that left their group');

test('the end of a session ends its programs, also those that left their group', async ({ client, shell }) => {
  const lines = [uniqueSleep(), uniqueSleep(), uniqueSleep()] as const;
  // Without user ids, a process without the mark of its session is not found.
  const hidden = hasUsers ? `env -i setsid ${lines[1]} &` : '';
  const processId = await shell.spawn(`setsid ${lines[0]} & ${hidden} echo begun; ${lines[2]}`);
  const stream = reading(client.browsers.process.stdoutStream(shell.id, processId));
  await stream.until('begun');
  const line = uniqueSleep();
  const refused = expect(shell.run(line)).rejects.toMatchObject({ status: expect.any(Number) });
  const running = () => [...lines, line].map((one) => runningCount(one));
  await expect.poll(running).toEqual([1, hasUsers ? 1 : 0, 1, 1]);
  await client.browsers.deleteByID(shell.id);
  await Promise.all([stream.end(), refused]);
  await expect.poll(running).toEqual([0, 0, 0, 0]);
});

test('the programs of a lease end before another one gets its browser', async ({ client }) => {
  const { id: pool } = await client.browserPools.create({ size: 1 });
  const first = await client.browserPools.acquire(pool, { acquire_timeout_seconds: 30 });
  const shell = shellIn(client, first!.session_id);
  const lines = [uniqueSleep(), uniqueSleep(), uniqueSleep()] as const;
  const hidden = hasUsers ? `env -i setsid ${lines[1]} &` : '';
  const processId = await shell.spawn(`setsid ${lines[0]} & ${hidden} echo begun; ${lines[2]}`);
  await reading(client.browsers.process.stdoutStream(shell.id, processId)).until('begun');
  const running = () => lines.map((line) => runningCount(line));
  await expect.poll(running).toEqual([1, hasUsers ? 1 : 0, 1]);
  await client.browserPools.release(pool, { session_id: shell.id, reuse: true });
  const second = await client.browserPools.acquire(pool, { acquire_timeout_seconds: 30 });
  expect(second!.session_id).toBe(shell.id);
  await expect.poll(running).toEqual([0, 0, 0]);
  // The browser itself lives, and the next holder knows nothing of the process.
  await expect(client.browsers.process.status(shell.id, processId)).rejects.toMatchObject({ status: 404 });
  await client.browsers.computer.getMousePosition(shell.id).catch(({ status }) => expect(status).toBe(409));
  expect(await shell.run('echo again')).toBe('again');
});

test('killing the service ends the programs of its sessions', async ({}, testInfo) => {
  const env = { PLAYWRIGHT_POOL_API_KEY: 'key' };
  await using cli = new CliProcess(['serve', '--port', '0', '--data-dir', testInfo.outputPath('data')], { env });
  const baseURL = (await cli.firstLine()).replace('listening on ', '');
  await using client = createClient({ baseURL, apiKey: 'key' });
  const shell = shellIn(client, (await client.browsers.create()).session_id);
  const lines = [uniqueSleep(), uniqueSleep(), uniqueSleep()] as const;
  const hidden = hasUsers ? `env -i setsid ${lines[1]} &` : '';
  await shell.spawn(`setsid ${lines[0]} & ${hidden} ${lines[2]}`);
  const running = () => lines.map((line) => runningCount(line));
  await expect.poll(running).toEqual([1, hasUsers ? 1 : 0, 1]);
  cli.child.kill('SIGKILL');
  await expect.poll(running).toEqual([0, 0, 0]);
});
