import { chromium, expect } from '@playwright/test';
import { FaultProxy } from '../../support/http/fault-proxy.ts';
import { startTestService } from '../../support/service/service.ts';
import { headersOf, here, test, urlOf } from './firefox-test.ts';
import { watchTurns } from './turns.ts';
import { firefoxHere, noFirefox } from './firefox-here.ts';

test.skip(!firefoxHere, noFirefox);

for (const { delayMs, place } of [
  { delayMs: 0, place: 'near' },
  { delayMs: 50, place: 'at 100 ms @long' },
]) {
  test(`clients of two engines take turns at one URL, ${place}`, async () => {
    test.setTimeout(300_000);
    await using service = await startTestService({
      firefox: here.executable,
      playwrightCores: [here.core],
      maxConcurrentSessions: 2,
    });
    await using proxy = await FaultProxy.start(service.url, { delayMs });
    for (const engine of ['chromium', 'firefox'])
      expect((await service.call('POST', '/browser_pools', { name: 'ci', size: 2, engine })).status).toBe(201);
    const passedOver = watchTurns(service.call);
    const client = async (type: typeof chromium) => {
      for (let lease = 0; lease < 3; lease++) {
        const browser = await type.connect(urlOf({ ...service, url: proxy.url }, 'pool=ci'), {
          headers: headersOf(service),
          timeout: 120_000,
        });
        expect(browser.browserType().name()).toBe(type.name());
        const page = await browser.newPage();
        await page.setContent('<title>here</title>');
        expect(await page.title()).toBe('here');
        await browser.close();
      }
    };
    await Promise.all([chromium, chromium, here.client, here.client].map(client));
    expect(await passedOver()).toBeLessThanOrEqual(2);
    const state = async () => {
      const { body } = await service.call('GET', '/browser_pools');
      return (body as { acquired_count: number }[]).map(({ acquired_count }) => acquired_count);
    };
    await expect.poll(state).toEqual([0, 0]);
  });
}
