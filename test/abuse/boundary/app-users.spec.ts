import { readdirSync } from 'node:fs';
import { expect } from '@playwright/test';
import { mayChangeUser } from '../../../src/service/process/children/system-users.ts';
import { appOf, collect, test } from '../../support/service/apps.ts';
import { manifestsOf, packedPackage } from '../../support/runs/packages.ts';
import { sessionDirectory } from '../../support/service/machines.ts';
import { setEnvironment } from '../../support/processes/environment.ts';
import { sessionsDirectory, sessionsIn } from '../../support/processes/sessions-directory.ts';
import { claimsOf, isGivenBack } from '../../support/processes/user-claims.ts';

test.skip(!mayChangeUser, 'only root on Linux can give deployments users of their own');

/** Actions that tell what they can read, list and write. */
const actions = {
  read: 'async (place) => (await import("node:fs")).readFileSync(place, "utf8")',
  list: 'async (place) => (await import("node:fs")).readdirSync(place)',
  write:
    'async (place) => { const fs = await import("node:fs"); fs.writeFileSync(place, "x"); return fs.statSync(place).uid; }',
};

test('an application with its own user id reads only its directory', async ({ client, deploy, invoke }, testInfo) => {
  using _ = setEnvironment({ SERVICE_SECRET: 'hidden' });
  const data = testInfo.outputPath('data');
  const { id, status } = await deploy(appOf(actions));
  expect(status).toBe('running');
  const { session_id } = await client.browsers.create({});
  const files = [
    `${data}/api-key`,
    `${data}/service.db`,
    `${sessionDirectory(data, session_id)}/user-data/Local State`,
    `/proc/${process.pid}/environ`,
    '/root/.bashrc',
  ];
  const directories = [
    data,
    sessionsDirectory(data),
    `${data}/deployments`,
    `${sessionDirectory(data, session_id)}/root`,
  ];
  const refused = { status: 'failed', status_reason: expect.stringMatching(/EACCES|ENOENT/) };
  await Promise.all([
    ...files.map(async (place) => expect.soft(await invoke('read', place), place).toMatchObject(refused)),
    ...directories.map(async (place) => expect.soft(await invoke('list', place), place).toMatchObject(refused)),
  ]);
  expect(await invoke('list', '.')).toMatchObject({
    status: 'succeeded',
    output: expect.stringContaining('index.mjs'),
  });
  const uid = Number((await invoke('write', 'made')).output);
  expect(uid).toBeGreaterThanOrEqual(20_000);
  expect(await invoke('read', 'made')).toMatchObject({ status: 'succeeded', output: '"x"' });

  // Another deployment can get the id.
  expect(claimsOf(uid)).toHaveLength(1);
  await client.deployments.delete(id);
  expect(isGivenBack(uid)).toBe(true);
  await client.browsers.deleteByID(session_id);
  expect(sessionsIn(data)).toEqual([]);
});

test("npm runs under a temporary user id, and can't read the service's files", async ({ client, deploy }, testInfo) => {
  using _ = setEnvironment({ SERVICE_SECRET: 'hidden' });
  const data = testInfo.outputPath('data');
  // Runs in the package manager, and then replaces the packages.
  const spy = `
    const fs = require('node:fs');
    if (/npm-cli/.test(process.argv[1])) {
      const attempt = (read) => { try { return read(); } catch (error) { return error.code; } };
      const found = {
        uid: process.getuid(),
        secret: process.env.SERVICE_SECRET ?? 'none',
        keys: Object.keys(process.env).filter((name) => /API_KEY/.test(name)).join(),
        key: attempt(() => fs.readFileSync('${data}/api-key', 'utf8')),
        other: attempt(() => fs.readdirSync('${data}/deployments')),
      };
      console.log('spy ' + JSON.stringify(found));
      process.on('exit', () => { fs.rmSync('node_modules', { recursive: true }); fs.symlinkSync('${data}', 'node_modules'); });
    }`;
  const files = [
    ...manifestsOf({ answer: 'answer.tgz' }),
    { name: 'answer.tgz', content: await packedPackage('answer', 'exports.answer = 42;') },
    { name: 'spy.cjs', content: spy },
  ];
  const variables = { NODE_OPTIONS: '--require ./spy.cjs' };
  const { id, status, status_reason } = await deploy(appOf(actions), { files, env_vars: variables });
  expect({ status, status_reason }).toEqual({
    status: 'failed',
    status_reason: 'its dependencies could not be installed: node_modules must be a directory, but is a file or a link',
  });
  const logged = (await collect(client.deployments.follow(id))).map(({ message = '' }) => message);
  const found = JSON.parse(logged.find((line) => line.startsWith('spy '))!.slice(4)) as { uid: number };
  expect(found).toMatchObject({ secret: 'none', keys: '', key: 'EACCES', other: 'EACCES' });
  expect(found.uid).toBeGreaterThanOrEqual(20_000);
  expect(readdirSync(`${data}/deployments`)).toEqual([]);
  expect(sessionsIn(data).filter((name) => name.startsWith('install-'))).toEqual([]);
  expect(isGivenBack(found.uid)).toBe(true);
});
