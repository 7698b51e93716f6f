// Tests whose application takes its time: most of each test waits for an answer, as in a real suite. Only the import differs.
const { BENCH_SIDE: side } = process.env;
const { test, expect } =
  side === 'stock'
    ? await import('@playwright/test')
    : side === 'baseline'
      ? await import('./baseline.ts')
      : await import('playwright-pool');

// As many tests as BENCH_TESTS says.
for (let number = 0; number < Number(process.env['BENCH_TESTS']); number++) {
  /** From 0.25 to 1.73 s. */
  const answerTime = 250 + number * 25;

  test(`order ${number}`, async ({ page }) => {
    await page.goto(process.env['BENCH_URL']!);
    await page.setContent(`
      <label>Order <input></label>
      <button onclick="setTimeout(() => document.querySelector('output').textContent = 'Saved', ${answerTime})">Save</button>
      <output></output>`);
    await page.getByLabel('Order').fill(`Order ${number}`);
    await page.getByRole('button', { name: 'Save' }).click();
    await expect(page.getByRole('status')).toHaveText('Saved');
  });
}
