import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, type TestInfo } from '@playwright/test';
import { startService, type ServiceOptions } from '../../../src/service/service.ts';
import { FaultProxy } from '../../support/http/fault-proxy.ts';
import { profileSaveOf, startSession } from '../../support/service/profiles.ts';
import { apiKey, withCall } from '../../support/service/plane.ts';
import { test as base, type Call, type TestService } from '../../support/service/service.ts';
import { empty } from '../../support/service/shared-service.ts';
import { perWorker } from '../../support/worker.ts';

type Shared = {
  machine: TestService;
  /** The way from control planes to the machine. */
  way: FaultProxy;
};

type Plane = Shared & {
  /** Starts a control plane on the data directory `name` of the test. */
  start: (name?: string, options?: Omit<ServiceOptions, 'machines'>, others?: string[]) => Promise<TestService>;
};

const test = base.extend<{ plane: Plane; shared: Shared }>({
  shared: perWorker(async (use) => {
    await using machine = await startService({ apiKey });
    await using way = await FaultProxy.start(machine.url);
    await use({ machine: withCall(machine), way });
  }),
  plane: async ({ shared }, use, testInfo) => {
    const started: TestService[] = [];
    const start: Plane['start'] = async (name = 'control', options = {}, others = []) => {
      const from = [shared.way.url, ...others];
      const dataDirectory = directoryOf(testInfo, name);
      const service = withCall(await startService({ ...options, apiKey, dataDirectory, machines: { from } }));
      started.push(service);
      return service;
    };
    await use({ ...shared, start });
    for (const service of started) await service.close();
    await empty(shared.machine.call);
  },
});
test.describe.configure({ mode: 'default' });

const directoryOf = (testInfo: TestInfo, name = 'control') => testInfo.outputPath(name);

async function startSaved(call: Call): Promise<string> {
  await call('POST', '/profiles', { name: 'ann' });
  return (await startSession(call, { profile: { name: 'ann', save_changes: true } })).session_id;
}

const acquire = async ({ call }: TestService): Promise<string> =>
  (await call('POST', '/browser_pools/ci/acquire', { acquire_timeout_seconds: 20 })).body.session_id;

const isSaved = async (call: Call) => (await call('GET', '/profiles/ann/download')).status === 200;

test('a control plane that ends waits until machines have saved their profiles', async ({ plane: { way, start } }) => {
  const first = await start();
  const id = await startSaved(first.call);
  way.plan(/^DELETE \/browsers\//, { status: 503, retryAfter: 1 });
  const answer = first.call('DELETE', `/browsers/${id}`).catch(() => undefined);
  await expect.poll(() => way.happened).toContain(`503: DELETE /browsers/${id}`);
  await first.close();
  await answer;
  const second = await start();
  expect(await isSaved(second.call)).toBe(true);
});

test('after a crash, the next control plane ends the ending sessions and saves their profiles', async ({
  plane: { machine, way, start },
}, testInfo) => {
  const first = await start();
  const id = await startSaved(first.call);
  way.plan(/^DELETE \/browsers\//, 'silent');
  const answer = first.call('DELETE', `/browsers/${id}`);
  const isEnded = async () => (await machine.call('GET', '/browsers')).body.length === 0;
  await expect.poll(isEnded).toBe(true);
  // The copy of the files at this moment is what a killed control plane leaves.
  spawnSync('cp', ['-r', directoryOf(testInfo), directoryOf(testInfo, 'copy')]);

  const second = await start('copy');
  await expect.poll(() => profileSaveOf(second.call, { session_id: id })).toEqual({ status: 'saved' });
  expect(await isSaved(second.call)).toBe(true);
  expect((await machine.call('GET', '/profiles')).body).toEqual([]);
  way.resetConnections();
  await answer;
});

test('a restarted control plane knows its sessions, and ends those that it cannot read without its key', async ({
  plane: { machine, start },
}, testInfo) => {
  const first = await start();
  const { session_id: id } = await startSession(first.call, {});
  const on = { enabled: true };
  await first.call('PATCH', `/browsers/${id}`, { telemetry: { browser: { console: on } } });
  await first.close();
  const second = await start();
  expect((await second.call('GET', `/browsers/${id}`)).body.telemetry).toMatchObject({ browser: { console: on } });
  await second.call('PATCH', `/browsers/${id}`, { telemetry: { browser: { network: on } } });
  const { body } = await machine.call('GET', `/browsers/${id}`);
  expect(body.telemetry).toMatchObject({ browser: { console: on, network: on } });
  await second.close();

  const key = join(directoryOf(testInfo), 'secrets-key');
  writeFileSync(key, 'damaged');
  // The file may be restored, so the sessions stay.
  await expect(start()).rejects.toThrow('secrets-key in the data directory is damaged');
  rmSync(key);
  const forgotten: unknown[] = [];
  const log: NonNullable<ServiceOptions['log']> = (event, fields) =>
    event === 'session_forgotten' && forgotten.push(fields?.['session']);
  const third = await start('control', { log });
  expect(forgotten).toEqual([id]);
  expect((await third.call('GET', `/browsers/${id}`)).status).toBe(404);
  await expect.poll(async () => (await machine.call('GET', '/browsers')).body).toEqual([]);
  await third.close();
  await start('control', { log });
  expect(forgotten).toEqual([id]);
});

test('a control plane that still starts saves the profile of an ended session, and its pools get the profile @long', async ({
  plane: { machine, start },
}) => {
  await using other = await startService({ apiKey });
  await using otherWay = await FaultProxy.start(other.url);
  const first = await start('control', {}, [otherWay.url]);
  otherWay.plan(/^POST \/browsers/, { status: 429, retryAfter: 0 });
  const id = await startSaved(first.call);
  const following = { name: 'ci', size: 1, profile: { name: 'ann' }, refresh_on_profile_update: true };
  await first.call('POST', '/browser_pools', following);
  const idle = await acquire(first);
  await first.call('POST', '/browser_pools/ci/release', { session_id: idle, reuse: true });
  expect(await acquire(first)).toBe(idle);
  await first.call('POST', '/browser_pools/ci/release', { session_id: idle, reuse: true });
  await first.close();
  await machine.call('DELETE', `/browsers/${id}`);
  // The other machine keeps the control plane from being ready while it fetches the profile.
  otherWay.plan(/limits/, 'silent');
  const second = await start('control', {}, [otherWay.url]);
  await expect.poll(() => profileSaveOf(second.call, { session_id: id })).toEqual({ status: 'saved' });
  expect(await acquire(second)).not.toBe(idle);
});
