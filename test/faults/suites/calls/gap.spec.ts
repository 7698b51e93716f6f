import { writeFileSync } from 'node:fs';
import { beside, testOnDemand as test } from '../held.ts';

writeFileSync(beside('worker'), String(process.pid));

test('killed', ({ held }) => held);

test.describe(() => {
  test.use({ poolLease: 'test' });
  test('leases for itself', ({ held }) => held);
});

test.describe(() => {
  test.beforeAll(async ({ browser }) => {
    test.setTimeout(1500);
    await (await browser.newContext()).newPage();
  });
  test('times out', () => {});
});

test('has the only browser', ({ held }) => held);
