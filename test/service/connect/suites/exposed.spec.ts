import { expect, test } from '@playwright/test';

const { APP_URL = '', SECURE_APP_URL = '' } = process.env;

test.use({ ignoreHTTPSErrors: true });

for (const url of [APP_URL, SECURE_APP_URL])
  test(`reaches ${new URL(url).protocol}`, async ({ page }) => {
    await page.goto(url);
    await expect(page).toHaveTitle(new URL(url).host);
    const received = await page.evaluate(async () => {
      const socket = new WebSocket(`${location.origin.replace('http', 'ws')}/socket`);
      socket.addEventListener('open', () => socket.send('hello'));
      const { data } = await new Promise<MessageEvent>((resolve) => socket.addEventListener('message', resolve));
      const source = new EventSource('/events');
      const event = await new Promise<MessageEvent>((resolve) => source.addEventListener('message', resolve));
      return [data, event.data] as unknown[];
    });
    expect(received).toEqual(['echo of hello', 'event 1']);
    expect(await (await page.request.get(url)).text()).toContain(new URL(url).host);
  });

test('says that no app is there', async ({ page }) => {
  const answer = await page.goto('http://localhost:64999/');
  expect(answer!.status()).toBe(502);
  await expect(page.getByRole('heading')).toHaveText("localhost:64999 can't be reached");
});
