import { expect, test } from '../support/runs/fault-runs.ts';

test('a clipboard that cannot be emptied fails only the tests that use it, and their browsers are returned', async ({
  run,
  hosted,
  faultProxy,
}) => {
  const suite = `
    import { test } from 'playwright-pool';
    test.use({ poolLease: 'test' });
    test('files', async ({ remote }) => { await remote.files.push(Buffer.from('x'), '/tmp/x'); });
    test('clipboard', async ({ page, remote }) => { await remote.clipboard.read(); });`;
  const refusal = { status: 501, retryAfter: 0 };
  faultProxy.plan(/^POST \/browsers\/\w+\/computer\/clipboard\/write/, refusal, refusal, refusal);
  const options = hosted.options({ via: faultProxy.url });
  const { results, output } = await run({ files: { 'a.spec.ts': suite }, ...options });
  expect(results['files']![0]!.status, output).toBe('passed');
  expect(results['clipboard']![0]!.error!.message).toContain('501');
  expect(output).toContain('leases: 2 acquired, 2 released, 0 leaked');
});
