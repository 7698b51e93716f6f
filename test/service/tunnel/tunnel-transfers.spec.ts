import { chromium, expect } from '@playwright/test';
import { isLong, longOnly } from '../../support/processes/long-form.ts';
import { peakMB, startMeasuring } from '../../support/processes/memory.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { download, TunneledApp, upload } from '../../support/http/tunneled-app.ts';
import { test } from '../../support/worker.ts';

const MB = 1_000_000;

for (const { size, tag } of [
  { size: 20 * MB, tag: [] },
  { size: 1000 * MB, tag: ['@long'] },
])
  test(
    `a tunnel transfers ${size / MB} MB up and down with less than 100 MB of memory at each end`,
    { tag },
    async ({}, testInfo) => {
      test.skip(size > 20 * MB && !isLong, longOnly);
      test.skip(process.platform !== 'linux', 'the memory of processes is read from /proc');
      test.setTimeout(600_000);
      await using app = await TunneledApp.start();
      const key = { PLAYWRIGHT_POOL_API_KEY: 'secret' };
      const serve = ['serve', '--port', '0', '--block-loopback', '--data-dir', testInfo.outputPath('data')];
      await using service = new CliProcess(serve, { env: key });
      const url = (await service.firstLine()).replace('listening on ', '');
      const answer = await fetch(`${url}/browsers`, {
        method: 'POST',
        headers: { authorization: 'Bearer secret', 'content-type': 'application/json' },
        body: JSON.stringify({ headless: true, timeout_seconds: 600 }),
      });
      const { session_id: id, cdp_ws_url } = (await answer.json()) as { session_id: string; cdp_ws_url: string };
      await using worker = new CliProcess(['tunnel', id], { env: { ...key, PLAYWRIGHT_POOL_BASE_URL: url } });
      await worker.firstLine();
      const browser = await chromium.connectOverCDP(cdp_ws_url);
      const page = await browser.newPage();
      await page.goto(app.url);
      const ends = { service: service.child.pid!, worker: worker.child.pid! };
      for (const [direction, move] of Object.entries({ down: download, up: upload })) {
        const before = Object.values(ends).map(startMeasuring);
        const started = performance.now();
        expect(await move(page, size)).toBe(size);
        const seconds = (performance.now() - started) / 1000;
        const more = Object.values(ends).map((pid, index) => peakMB(pid) - before[index]!);
        const figures = `${direction}: ${seconds.toFixed(1)} s, service +${more[0]!.toFixed(0)} MB, worker +${more[1]!.toFixed(0)} MB`;
        testInfo.annotations.push({ type: 'figures', description: figures });
        if (tag.length > 0) console.log(figures);
        expect(Math.max(...more), figures).toBeLessThan(100);
      }
      await browser.close();
    },
  );
