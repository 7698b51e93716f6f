import { expect, test } from 'playwright-pool';

// A data: URL needs no server. examples/far tests an app on this machine.
const clock = `data:text/html,<h1></h1><script>document.querySelector('h1').textContent = new Date().getFullYear()</script>`;

for (const name of ['one worker', 'another worker']) {
  test(`a page of ${name} runs in a browser of the pool`, async ({ page, remote }) => {
    await page.clock.setFixedTime('2031-05-04T12:00:00Z');
    await page.goto(clock);
    await expect(page.getByRole('heading')).toHaveText('2031');
    expect(remote.session.pool).toBe('ci');
  });
}
