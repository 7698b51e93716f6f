import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from '@playwright/test';
import { Isolation } from '../../src/service/chromium/isolation.ts';
import { defaultUids, mayChangeUser, SystemUsers } from '../../src/service/process/children/system-users.ts';
import { systemClock } from '../../src/service/process/clock.ts';
import { Encoder } from '../../src/service/replays/encoder.ts';
import { ownClaims } from '../support/user-claims.ts';

test.skip(!mayChangeUser, 'only root on Linux can give programs users of their own');

test('the Chromium that encodes recordings keeps no user id when the service ends', async () => {
  const directory = await mkdtemp(path.join(tmpdir(), 'encoder-'));
  await chmod(directory, 0o711);
  const isolation = new Isolation(await SystemUsers.open(defaultUids), directory);
  const encoder = new Encoder({ directory, isolation, chromium: {}, environment: process.env, clock: systemClock });
  await encoder.begin({ width: 320, height: 240, framerate: 10 }, undefined);
  expect(ownClaims()).toHaveLength(1);
  await encoder.close();
  expect(ownClaims()).toEqual([]);
  await rm(directory, { recursive: true });
});
