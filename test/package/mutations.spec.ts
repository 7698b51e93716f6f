import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from '../support/worker.ts';

const script = fileURLToPath(new URL('../../scripts/mutations.mjs', import.meta.url));

test('each change in scripts/mutations fits its source', () => {
  const { stderr, status } = spawnSync(process.execPath, [script, '--list'], { encoding: 'utf8', timeout: 30_000 });
  expect(status, stderr).toBe(0);
});
