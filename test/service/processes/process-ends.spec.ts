import { expect, type TestInfo } from '@playwright/test';
import { createClient } from '../../../src/client/index.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { canSeparate, startSeparateService } from '../../support/processes/separate-service.ts';
import { reading, runningCount, shellIn, test } from '../../support/service/session-processes.ts';
import { uniqueSleep, type Shell } from '../../support/service/session-processes.ts';

const hasUsers = process.platform === 'linux' && process.getuid?.() === 0;

test.skip(process.platform !== 'linux', 'other systems find no processes that left their group');

test('programs end with their lease or session, also those that left their process group', async ({ client }) => {
  const { id: pool } = await client.browserPools.create({ size: 1 });
  const first = await client.browserPools.acquire(pool, { acquire_timeout_seconds: 30 });
  const shell = shellIn(client, first!.session_id);
  const programs = await startPrograms(shell);
  await client.browserPools.release(pool, { session_id: shell.id, reuse: true });
  const second = await client.browserPools.acquire(pool, { acquire_timeout_seconds: 30 });
  expect(second!.session_id).toBe(shell.id);
  await programs.expectEnd();
  // The browser itself lives, and the next holder knows nothing of the process.
  await expect(client.browsers.process.status(shell.id, programs.id)).rejects.toMatchObject({ status: 404 });
  await client.browsers.computer.getMousePosition(shell.id).catch(({ status }) => expect(status).toBe(409));
  expect(await shell.run('echo again')).toBe('again');

  const others = await startPrograms(shell);
  const stream = reading(client.browsers.process.stdoutStream(shell.id, others.id));
  await stream.until('begun');
  const line = uniqueSleep();
  const refused = expect(shell.run(line)).rejects.toMatchObject({ status: expect.any(Number) });
  await expect.poll(() => runningCount(line)).toBe(1);
  await client.browsers.deleteByID(shell.id);
  await Promise.all([stream.end(), refused]);
  await others.expectEnd();
  await expect.poll(() => runningCount(line)).toBe(0);
});

test('killing the service ends the programs of its sessions', async ({}, testInfo) => {
  await using far = await startKillable(testInfo);
  const programs = await startPrograms(shellIn(far.client, far.id));
  far.kill();
  await programs.expectEnd();
});

test('killing the service ends its terminals and its running Playwright code @long', async ({}, testInfo) => {
  await using far = await startKillable(testInfo);
  const { client, id } = far;
  const lines = [uniqueSleep(), uniqueSleep()] as const;
  const args = ['-c', `trap '' HUP TERM; ${lines[0]}`];
  await client.browsers.process.spawn(id, { command: 'sh', args, allocate_tty: true });
  const [command, seconds] = lines[1].split(' ');
  const code = `(await import('node:child_process')).spawn('${command}', ['${seconds}'], { detached: true }); for (;;);`;
  const failed = expect(client.browsers.playwright.execute(id, { code })).rejects.toThrow();
  const running = () => lines.map((line) => runningCount(line));
  await expect.poll(running).toEqual([1, 1]);
  far.kill();
  await failed;
  await expect.poll(running).toEqual([0, 0]);
});

test('a program ends when the caller of process/exec hangs up @long', async ({ client, shell }) => {
  const line = uniqueSleep();
  const caller = new AbortController();
  const call = { command: 'sh', args: ['-c', `${line} & wait`] };
  const left = expect(client.browsers.process.exec(shell.id, call, { signal: caller.signal })).rejects.toThrow();
  await expect.poll(() => runningCount(line)).toBe(1);
  caller.abort(new Error('the caller leaves'));
  await left;
  await expect.poll(() => runningCount(line)).toBe(0);
});

test.describe('without user ids', () => {
  test.use({ serviceOptions: { sessionUids: false } });

  test("programs, terminals and code run as the service's user, and end @long", async ({ client, shell }) => {
    expect(await shell.run('id -u')).toBe(String(process.getuid?.()));
    const lines = [uniqueSleep(), uniqueSleep(), uniqueSleep()] as const;
    await shell.spawn(`setsid ${lines[0]} & ${lines[1]}`);
    const args = ['-c', `trap '' HUP; ${lines[2]}`];
    await client.browsers.process.spawn(shell.id, { command: 'sh', args, allocate_tty: true });
    const code = 'return process.getuid() as number';
    expect(await client.browsers.playwright.execute(shell.id, { code })).toMatchObject({ result: process.getuid?.() });
    const running = () => lines.map((line) => runningCount(line));
    await expect.poll(running).toEqual([1, 1, 1]);
    await client.browsers.deleteByID(shell.id);
    await expect.poll(running).toEqual([0, 0, 0]);
  });
});

test('without user ids, programs and code run on a machine that shares no disk with the caller @long', async ({}, testInfo) => {
  test.skip(!canSeparate, 'this machine allows no mount namespaces');
  const hidden = testInfo.outputPath('hidden');
  await using service = await startSeparateService(hidden);
  await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
  const { session_id: id } = await client.browsers.create();
  await client.browsers.fs.writeFile(id, Buffer.from('there'), { path: '/home/user/a' });
  expect(await shellIn(client, id).run('cat a')).toBe('there');
  const started = await client.browsers.process.spawn(id, { command: 'cat', args: ['a'], allocate_tty: true });
  const read = reading(client.browsers.process.stdoutStream(id, started.process_id));
  await read.end();
  expect(read.text()).toBe('there');
  const code = "const text: string = 'there'; await page.setContent(text); return page.locator('body').textContent()";
  expect(await client.browsers.playwright.execute(id, { code })).toMatchObject({ success: true, result: 'there' });
  await client.browsers.deleteByID(id);
});

/** Starts programs, some of which leave their process group. */
async function startPrograms(shell: Shell): Promise<{ id: string; expectEnd: () => Promise<void> }> {
  const lines = [uniqueSleep(), uniqueSleep(), uniqueSleep()] as const;
  // Without user ids, a process without the mark of its session is not found.
  const hidden = hasUsers ? `env -i setsid ${lines[1]} &` : '';
  const id = await shell.spawn(`setsid ${lines[0]} & ${hidden} echo begun; ${lines[2]}`);
  const running = () => lines.map((line) => runningCount(line));
  await expect.poll(running).toEqual([1, hasUsers ? 1 : 0, 1]);
  return { id, expectEnd: () => expect.poll(running).toEqual([0, 0, 0]) };
}

/** A session of a service in a process of its own. */
async function startKillable(testInfo: TestInfo) {
  const env = { PLAYWRIGHT_POOL_API_KEY: 'key' };
  const cli = new CliProcess(['serve', '--port', '0', '--data-dir', testInfo.outputPath('data')], { env });
  const baseURL = (await cli.firstLine()).replace('listening on ', '');
  const client = createClient({ baseURL, apiKey: 'key' });
  const { session_id: id } = await client.browsers.create();
  const end = async () => {
    await client[Symbol.asyncDispose]();
    await cli[Symbol.asyncDispose]();
  };
  return { client, id, kill: () => cli.child.kill('SIGKILL'), [Symbol.asyncDispose]: end };
}
