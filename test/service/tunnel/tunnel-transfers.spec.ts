import { readFileSync, writeFileSync } from 'node:fs';
import { chromium, expect, test, type Page } from '@playwright/test';
import { isLong, longOnly } from '../../support/processes/long-form.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { TunneledApp } from '../../support/http/tunneled-app.ts';

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

async function download(page: Page, size: number): Promise<number> {
  return await page.evaluate(async (size) => {
    const { body } = await fetch(`/download?bytes=${size}`);
    let received = 0;
    const reader = body!.getReader();
    for (let chunk = await reader.read(); !chunk.done; chunk = await reader.read()) received += chunk.value.length;
    return received;
  }, size);
}

async function upload(page: Page, size: number): Promise<number> {
  return await page.evaluate(async (size) => {
    const part = new Blob([new Uint8Array(1_000_000)]);
    const body = new Blob(Array.from({ length: size / part.size }, () => part));
    const answer = await fetch('/upload', { method: 'POST', body });
    return ((await answer.json()) as { bytes: number }).bytes;
  }, size);
}

/** Forgets the peak of a process so far, and returns its memory in MB. */
function startMeasuring(pid: number): number {
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  return memoryMB(pid, 'VmRSS');
}

function peakMB(pid: number): number {
  return memoryMB(pid, 'VmHWM');
}

function memoryMB(pid: number, field: string): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)?.[1]) / 1024;
}
