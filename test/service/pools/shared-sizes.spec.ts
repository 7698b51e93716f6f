import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from '@playwright/test';
import { browserPools } from '../../../src/contract/browser-pools.ts';
import { test } from '../../support/service/pools.ts';
import { projectId } from '../../support/runs/project.ts';

test('the size of a shared pool is the sum for its processes', async ({ testPools: { pools, createFull, lease } }) => {
  const pool = await createFull({ size: 1, name: 'shared' });
  const sizeFor = async ({ pid }: { pid?: number | undefined }, size: number) =>
    (await pools.update(projectId, 'shared', browserPools.update.body.parse({ size, size_for_process: pid }))).config
      .size;
  const other = spawn('sleep', ['1000']);
  try {
    expect(await sizeFor(process, 1)).toBe(1);
    expect(await sizeFor(other, 2)).toBe(3);
    expect(await sizeFor(process, 1)).toBe(3);
  } finally {
    other.kill();
    await once(other, 'exit');
  }
  expect(await sizeFor(process, 1)).toBe(1);
  // Another process, which was killed, holds the only browser.
  await lease(pool);
  expect(await sizeFor(process, 1)).toBe(2);
});
