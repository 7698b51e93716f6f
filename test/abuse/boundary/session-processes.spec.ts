import { statSync } from 'node:fs';
import { expect } from '@playwright/test';
import { mayChangeUser } from '../../../src/service/process/children/system-users.ts';
import type { Client } from '../../../src/client/index.ts';
import { setEnvironment } from '../../support/processes/environment.ts';
import { processesWith } from '../../support/processes/processes.ts';
import { reading, runningCount, shellIn, uniqueSleep } from '../../support/service/session-processes.ts';
import { sessionDirectory } from '../../support/service/machines.ts';
import { sessionsDirectory } from '../../support/processes/sessions-directory.ts';
import { test } from '../shared-service.ts';

test.skip(!mayChangeUser, 'only root on Linux can give sessions users of their own');

test("a program can't read other sessions, the data or the service", async ({
  client,
  data,
  shell,
  newShell: { id: other },
}) => {
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
  using _ = setEnvironment(secrets);
  const environment = await shell.run('env; cat /proc/self/environ');
  expect(environment).not.toContain('hidden-');
  expect(environment).toMatch(/^HOME=.*\/root\/home\/user$/m);
});

test('ending a session ends a program that always restarts itself @long', async ({ client, newShell: { id } }) => {
  await hop(client, id);
  await client.browsers.deleteByID(id);
  await expect.poll(() => hops(id)).toBe(0);
});

test('a program that restarts itself is gone before the next lease of its pool begins @long', async ({ client }) => {
  const { id: pool } = await client.browserPools.create({ size: 1 });
  const { session_id: id } = (await client.browserPools.acquire(pool, { acquire_timeout_seconds: 30 }))!;
  await hop(client, id);
  await client.browserPools.release(pool, { session_id: id, reuse: true });
  const next = (await client.browserPools.acquire(pool, { acquire_timeout_seconds: 30 }))!;
  await expect.poll(() => hops(id)).toBe(0);
  expect(await shellIn(client, next.session_id).run('echo works')).toBe('works');
});

test('ending a session leaves the programs of other sessions running @long', async ({ client, shell, newShell }) => {
  const line = uniqueSleep();
  const process = await shell.spawn(`echo begun; ${line}`);
  await reading(client.browsers.process.stdoutStream(shell.id, process)).until('begun');
  await newShell.run('true');
  await client.browsers.deleteByID(newShell.id);
  expect(runningCount(line)).toBe(1);
  await expect(client.browsers.process.status(newShell.id, process)).rejects.toMatchObject({ status: 404 });
  await client.browsers.process.kill(shell.id, process, { signal: 'TERM' });
});

/** Starts a script that restarts itself. */
async function hop(client: Client, id: string): Promise<void> {
  const script = Buffer.from(`#!/bin/sh\nsetsid "$0" ${id} &\n`);
  await client.browsers.fs.writeFile(id, script, { path: '/home/user/hop', mode: '755' });
  await shellIn(client, id).run('env -i ./hop > /dev/null 2>&1');
  await expect.poll(() => hops(id)).toBeGreaterThan(0);
}

/** How many processes of the script run for a session. */
function hops(id: string): number {
  return processesWith(`hop ${id}`).length;
}
