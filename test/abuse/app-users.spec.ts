import { readdirSync } from 'node:fs';
import { expect } from '@playwright/test';
import { appOf, test } from '../support/apps.ts';

test.skip(
  process.platform !== 'linux' || process.getuid?.() !== 0,
  'only root on Linux can give deployments users of their own',
);

/** Actions that tell what they can read, list and write. */
const actions = {
  read: 'async (place) => (await import("node:fs")).readFileSync(place, "utf8")',
  list: 'async (place) => (await import("node:fs")).readdirSync(place)',
  write:
    'async (place) => { const fs = await import("node:fs"); fs.writeFileSync(place, "x"); return fs.statSync(place).uid; }',
};

test('an application can read its own directory, but nothing of the service or of other sessions', async ({
  client,
  deploy,
  invoke,
}, testInfo) => {
  process.env['SERVICE_SECRET'] = 'hidden';
  const data = testInfo.outputPath('data');
  expect(await deploy(appOf(actions))).toMatchObject({ status: 'running' });
  const { session_id } = await client.browsers.create({});
  for (const place of [
    `${data}/api-key`,
    `${data}/service.db`,
    `${data}/sessions/${session_id}/user-data/Local State`,
    `/proc/${process.pid}/environ`,
    '/root/.bashrc',
  ]) {
    const { status, status_reason } = await invoke('read', place);
    expect
      .soft({ status, status_reason }, place)
      .toMatchObject({ status: 'failed', status_reason: expect.stringContaining('EACCES') });
  }
  for (const place of [data, `${data}/sessions`, `${data}/deployments`, `${data}/sessions/${session_id}/root`])
    expect.soft(await invoke('list', place), place).toMatchObject({ status: 'failed' });
  expect(await invoke('list', '.')).toMatchObject({
    status: 'succeeded',
    output: expect.stringContaining('index.mjs'),
  });
  const { output } = await invoke('write', 'made');
  expect(Number(output)).toBeGreaterThanOrEqual(20_000);
  expect(await invoke('read', 'made')).toMatchObject({ status: 'succeeded', output: '"x"' });
  delete process.env['SERVICE_SECRET'];
});

test('deleting a deployment frees its user id', async ({ client, deploy, invoke }, testInfo) => {
  const { id } = await deploy(appOf(actions));
  const uid = Number((await invoke('write', 'made')).output);
  const claims = () => readdirSync('/run/playwright-pool-users').filter((name) => name.startsWith(`${uid}.`));
  expect(claims()).toHaveLength(1);
  await client.deployments.delete(id);
  expect(claims()).toEqual([]);
  expect(readdirSync(testInfo.outputPath('data/sessions'))).toEqual([]);
});
