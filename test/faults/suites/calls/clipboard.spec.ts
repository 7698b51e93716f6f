import { expect, test } from '../held.ts';

test('works', ({ remote: { clipboard } }) => {
  test.setTimeout(20_000);
  expect(clipboard).toBeDefined();
});
