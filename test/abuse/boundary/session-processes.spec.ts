import { readdirSync, readFileSync, statSync } from 'node:fs';
import { expect } from '@playwright/test';
import { reading, runningCount, shellIn, test, uniqueSleep } from '../../support/service/session-processes.ts';
import { sessionDirectory } from '../../support/service/machines.ts';
import { sessionsDirectory } from '../../support/service/sessions-directory.ts';

test.skip(
  process.platform !== 'linux' || process.getuid?.() !== 0,
  'only root on Linux can give sessions users of their own',
);

test("a session's program can't read other sessions, the data directory or the service's environment", async ({
  client,
  shell,
}, testInfo) => {
  const data = testInfo.outputPath('data');
  const { session_id: other } = await client.browsers.create();
  await client.browsers.fs.writeFile(other, Buffer.from('secret'), { path: '/home/user/secret', mode: '666' });
  const { uid } = statSync(`${sessionDirectory(data, shell.id)}/root`);
  expect(await shell.run('id -u; id -G')).toBe(`${uid}\n${uid}`);
  for (const place of [
    data,
    `${data}/api-key`,
    `${data}/service.db`,
    sessionsDirectory(data),
    sessionDirectory(data, other),
    `${sessionDirectory(data, other)}/root/home/user/secret`,
    '/root',
    `/proc/${process.pid}/environ`,
    `/proc/${process.pid}/root/root`,
    '/etc/shadow',
  ])
    expect(
      await shell.run(`(ls ${place}/ && echo listed; head -c 1 ${place} && echo read) 2>/dev/null; true`),
    ).not.toMatch(/listed|read/);
  await expect(shell.run(`kill -9 ${process.pid}`)).rejects.toThrow(/not permitted|No such process/);
});

test("a session's program gets no environment variable that could hold a secret of the service", async ({ shell }) => {
  const secrets = { PLAYWRIGHT_POOL_API_KEY: 'hidden-1', AWS_SECRET_ACCESS_KEY: 'hidden-2', HTTPS_PROXY: 'hidden-3' };
  const before = Object.keys(secrets).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, secrets);
  try {
    const environment = await shell.run('env; cat /proc/self/environ');
    expect(environment).not.toContain('hidden-');
    expect(environment).toMatch(/^HOME=.*\/root\/home\/user$/m);
  } finally {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  }
});

test("limits the number of processes of a session's program, and disables its core dumps @long", async ({ shell }) => {
  const limits = await shell.run('cat /proc/self/limits');
  expect(limits).toMatch(/^Max processes +2048 +2048 /m);
  expect(limits).toMatch(/^Max core file size +0 +0 /m);
});

test('ending a session ends its program, even if the program restarts itself all the time @long', async ({
  client,
  shell,
}) => {
  await hop(shell.id);
  const count = () => hops(shell.id);
  await expect.poll(count).toBeGreaterThan(0);
  await client.browsers.deleteByID(shell.id);
  await expect.poll(count).toBe(0);

  async function hop(id: string): Promise<void> {
    const script = Buffer.from(`#!/bin/sh\nsetsid "$0" ${id} &\n`);
    await client.browsers.fs.writeFile(id, script, { path: '/home/user/hop', mode: '755' });
    await shell.run('env -i ./hop > /dev/null 2>&1');
  }
});

test('a program that restarts itself is gone before the next lease of its pool begins @long', async ({ client }) => {
  const { id: pool } = await client.browserPools.create({ size: 1 });
  const { session_id: id } = (await client.browserPools.acquire(pool, { acquire_timeout_seconds: 30 }))!;
  const script = Buffer.from(`#!/bin/sh\nsetsid "$0" ${id} &\n`);
  await client.browsers.fs.writeFile(id, script, { path: '/home/user/hop', mode: '755' });
  await shellIn(client, id).run('env -i ./hop > /dev/null 2>&1');
  await expect.poll(() => hops(id)).toBeGreaterThan(0);
  await client.browserPools.release(pool, { session_id: id, reuse: true });
  const next = (await client.browserPools.acquire(pool, { acquire_timeout_seconds: 30 }))!;
  await expect.poll(() => hops(id)).toBe(0);
  expect(await shellIn(client, next.session_id).run('echo works')).toBe('works');
});

test('ending a session leaves the programs of other sessions running @long', async ({ client, shell }) => {
  const { session_id: other } = await client.browsers.create();
  const line = uniqueSleep();
  const process = await shellIn(client, other).spawn(`echo begun; ${line}`);
  await reading(client.browsers.process.stdoutStream(other, process)).until('begun');
  await shell.run('true');
  await client.browsers.deleteByID(shell.id);
  expect(runningCount(line)).toBe(1);
  await expect(client.browsers.process.status(shell.id, process)).rejects.toMatchObject({ status: 404 });
  await client.browsers.process.kill(other, process, { signal: 'TERM' });
});

/** How many processes of the script run for a session. */
function hops(id: string): number {
  const lines = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
      } catch {
        return '';
      }
    });
  return lines.filter((line) => line.includes('hop') && line.includes(id)).length;
}
