// Takes the pictures of README: node scripts/pictures.mjs, after a build. Runs two tests of the to-do application. The
// first one takes the pictures of the live view and the dashboard. The second one fails, and this script takes the
// picture of its replay.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chromium } from '@playwright/test';
import { findChromium } from '../build/src/service/chromium/find-chromium.js';

const root = fileURLToPath(new URL('..', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'pictures-'));
try {
  runSuite();
  await takePictures();
} finally {
  rmSync(directory, { recursive: true });
}

function runSuite() {
  const playwright = join(root, 'node_modules/@playwright/test/cli.js');
  const env = {
    ...process.env,
    PICTURES_DIRECTORY: directory,
    PLAYWRIGHT_POOL_DATA_DIR: join(directory, 'data'),
    CI: '',
  };
  const args = [playwright, 'test', '--config', join(root, 'scripts/pictures/playwright.config.ts')];
  const { status } = spawnSync(process.execPath, args, { env, stdio: 'inherit', timeout: 120_000 });
  if (status !== 1) throw new Error(`the suite must fail with exit code 1, and had ${status}`);
}

async function takePictures() {
  const server = createServer((request, response) => void serveReport(request, response)).listen(0, '127.0.0.1');
  const browser = await chromium.launch({
    executablePath: await findChromium(true, process.env.PLAYWRIGHT_POOL_CHROMIUM, process.env),
  });
  try {
    for (const colorScheme of ['light', 'dark']) {
      // Wide enough for the chapters beside the video.
      const page = await browser.newPage({ viewport: { width: 1000, height: 650 }, colorScheme });
      await page.goto(`http://127.0.0.1:${server.address().port}/`);
      await page.getByRole('link', { name: 'removes a bought item from the list' }).first().click();
      // The report opens the player in another tab.
      await page.goto(
        await page
          .getByRole('link', { name: 'replay player' })
          .first()
          .evaluate((link) => link.href),
      );
      await page.locator('video').evaluate(playUntilPicture);
      await save(`replay-${colorScheme}`, await page.screenshot(), page);
      for (const name of [`live-view-${colorScheme}`, `dashboard-${colorScheme}`])
        await save(name, await readFile(join(directory, `${name}.png`)), page);
      await page.close();
    }
  } finally {
    await browser.close();
    server.close();
  }
}

/** Plays the video from the failed step, where the player starts. Runs in the page. */
async function playUntilPicture(video) {
  const next = (...names) =>
    new Promise((resolve, reject) => {
      for (const name of names) video.addEventListener(name, resolve, { once: true });
      setTimeout(() => reject(new Error(`the video sent no ${names.join(' or ')} within 10 s`)), 10_000);
    });
  if (video.readyState < 2 || video.seeking) await next('seeked', 'loadeddata');
  video.muted = true;
  await video.play();
  await next('timeupdate');
  await next('timeupdate', 'ended');
}

/**
 * Writes a small WebP: the pictures are part of the package, which may have 1 MB, and README shows them at half its
 * width.
 */
async function save(name, png, page) {
  const url = await page.evaluate(
    async (source) => {
      const image = new Image();
      image.src = source;
      await image.decode();
      const [width, height] = [520, Math.round((520 * image.height) / image.width)];
      const canvas = Object.assign(document.createElement('canvas'), { width, height });
      const context = canvas.getContext('2d');
      context.imageSmoothingQuality = 'high';
      context.drawImage(image, 0, 0, width, height);
      return canvas.toDataURL('image/webp', 0.2);
    },
    `data:image/png;base64,${png.toString('base64')}`,
  );
  await writeFile(join(root, `docs/pictures/${name}.webp`), Buffer.from(url.split(',')[1], 'base64'));
}

/** Serves ranges, because the player seeks. */
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
