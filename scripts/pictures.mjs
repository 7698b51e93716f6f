// Makes the pictures of README with the product itself: node scripts/pictures.mjs, after a build. One run of the to-do application's suite has a
// test that fails; pictures are taken of its report, and of the live view meanwhile.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from '@playwright/test';
import { findChromium } from '../build/src/service/browsers/find-chromium.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'pictures-'));
try {
  runSuite();
  await takePicture();
} finally {
  rmSync(directory, { recursive: true });
}

function runSuite() {
  const playwright = join(root, 'node_modules/@playwright/test/cli.js');
  const env = {
    ...process.env,
    PICTURES_DIRECTORY: directory,
    LIVE_VIEW_PICTURE: join(root, 'docs/pictures/live-view.png'),
    PLAYWRIGHT_POOL_DATA_DIR: join(directory, 'data'),
    CI: '',
  };
  const args = [playwright, 'test', '--config', join(root, 'scripts/pictures/playwright.config.ts')];
  const { status } = spawnSync(process.execPath, args, { env, stdio: 'inherit', timeout: 120_000 });
  if (status !== 1) throw new Error(`the suite was to fail with exit code 1, not ${status}`);
}

async function takePicture() {
  const server = createServer((request, response) => void serveReport(request, response)).listen(0, '127.0.0.1');
  const browser = await chromium.launch({ executablePath: await findChromium(true, process.env.PLAYWRIGHT_POOL_CHROMIUM, process.env) });
  try {
    const page = await browser.newPage({ viewport: { width: 960, height: 640 } });
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    await page.getByRole('link', { name: 'what is bought disappears from the list' }).first().click();
    const video = page.locator('video').first();
    await video.evaluate(async (element) => {
      element.scrollIntoView({ block: 'center' });
      if (element.readyState < 2) await new Promise((resolve) => element.addEventListener('loadeddata', resolve, { once: true }));
      const shown = new Promise((resolve) => {
        element.requestVideoFrameCallback(function look(_now, { mediaTime }) {
          if (mediaTime > 1) resolve();
          else element.requestVideoFrameCallback(look);
        });
      });
      element.currentTime = 2;
      await shown;
    });
    await page.screenshot({ path: join(root, 'docs/pictures/report.png') });
  } finally {
    await browser.close();
    server.close();
  }
}

/** Videos are sought by ranges. */
async function serveReport({ url, headers }, response) {
  const path = url.split(/[?#]/)[0];
  const content = await readFile(join(directory, 'report', path === '/' ? 'index.html' : path)).catch(() => undefined);
  if (!content) {
    response.writeHead(404).end();
    return;
  }
  const type = { '.html': 'text/html', '.mp4': 'video/mp4', '.webm': 'video/webm' }[extname(path) || '.html'];
  const start = Number(/^bytes=(\d+)-/.exec(headers.range ?? '')?.[1] ?? 0);
  response.writeHead(headers.range ? 206 : 200, {
    ...(type && { 'Content-Type': type }),
    'Accept-Ranges': 'bytes',
    ...(headers.range && { 'Content-Range': `bytes ${start}-${content.length - 1}/${content.length}` }),
  });
  response.end(content.subarray(start));
}
