import { test } from 'playwright-pool';

let began: number;
test.beforeEach(() => {
  began = performance.now();
});
test.afterEach(({}, { annotations }) => {
  annotations.push({ type: 'took', description: String(performance.now() - began) });
});

for (const title of ['one', 'two', 'three', 'four'])
  test(title, async ({ page }) => {
    await page.setContent('x');
  });

test('needs no browser', () => {
  throw new Error('of its own');
});
