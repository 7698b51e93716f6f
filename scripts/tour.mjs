// Records the tour of docs/dashboard.md: node scripts/tour.mjs, after a build. Three tests of the to-do application run
// while this script looks at them in the dashboard.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { chromium } from '@playwright/test';
import { findChromium } from '../build/src/service/chromium/find-chromium.js';
import { animatedWebp } from './animated-webp.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const directory = mkdtempSync(join(tmpdir(), 'tour-'));
const env = {
  ...process.env,
  PICTURES_DIRECTORY: directory,
  PLAYWRIGHT_POOL_DATA_DIR: join(directory, 'data'),
  CI: '',
};
const playwright = join(root, 'node_modules/@playwright/test/cli.js');
const config = join(root, 'scripts/pictures/tour.config.ts');
const suite = spawn(process.execPath, [playwright, 'test', '--config', config], { env, stdio: 'inherit' });
const ended = once(suite, 'exit').then(([code]) => code);
const browser = await chromium.launch({
  executablePath: await findChromium(true, process.env.PLAYWRIGHT_POOL_CHROMIUM, process.env),
});
try {
  await allStarted();
  const context = await browser.newContext({ viewport: { width: 1000, height: 600 } });
  const frames = await tour(await context.newPage());
  if ((await ended) !== 0) throw new Error('a test failed');
  const page = await browser.newPage();
  const webp = await animatedWebp(page, frames, { width: 560, quality: 0.1 });
  writeFileSync(join(root, 'docs/pictures/tour.webp'), webp);
  console.log(`${frames.length} frames, ${Math.round(webp.length / 1000)} kB`);
} finally {
  writeFileSync(join(directory, 'seen'), '');
  await browser.close();
  await ended;
  rmSync(directory, { recursive: true, maxRetries: 20, retryDelay: 100 });
}

async function allStarted() {
  while (readdirSync(directory).filter((name) => name.startsWith('started')).length < 3) {
    if (suite.exitCode !== null) throw new Error('the suite ended too early');
    await sleep(200);
  }
}

/** Visits the views. Returns their pictures as `{ png, ms }`. */
async function tour(page) {
  const frames = [];
  const show = async (ms) => frames.push({ png: await page.screenshot(), ms });
  const film = async (count, ms) => {
    for (let frame = 0; frame < count; frame++) {
      await show(ms);
      await sleep(ms);
    }
  };
  const open = (name) => page.getByRole('navigation').getByRole('link', { name, exact: true }).click();

  await page.goto(
    execFileSync(process.execPath, [join(root, 'dist/src/cli/main.js'), 'dashboard', '--print'], {
      env,
      encoding: 'utf8',
    }).trim(),
  );
  await page.getByText('Browsers in use').waitFor();
  await sleep(6000); // The chart has its first samples.
  await show(2000);
  await open('Wall');
  await page.locator('.thumbnail img').nth(2).waitFor();
  await film(3, 1000);

  await open('Leases');
  await page.getByText('plans a party').first().waitFor();
  await show(1800);
  await page.keyboard.press('Control+k');
  for (const letter of 'trip') {
    await page.keyboard.type(letter);
    await show(250);
  }
  await show(900);
  await page.keyboard.press('Enter');
  const details = page.getByRole('dialog');
  await details.getByRole('link', { name: 'packs for a trip' }).waitFor();
  await show(1800);

  const live = await page.context().newPage();
  await live.setViewportSize(page.viewportSize());
  await live.goto(
    new URL(await details.getByRole('link', { name: 'Live view' }).getAttribute('href'), page.url()).href,
  );
  await live.getByText('Live', { exact: true }).waitFor();
  for (let frame = 0; frame < 3; frame++) {
    frames.push({ png: await live.screenshot(), ms: 500 });
    await sleep(500);
  }
  await live.close();

  await page.getByRole('button', { name: 'Close' }).click();
  writeFileSync(join(directory, 'seen'), '');
  await page.getByText('Returned').nth(2).waitFor();
  await open('Replays');
  await page.getByText('Complete').nth(2).waitFor();
  await show(1800);
  await page.goto(await page.getByRole('link', { name: 'plans a party' }).getAttribute('href'));
  await page.locator('video').evaluate(async (video) => {
    video.muted = true;
    await video.play();
  });
  await film(3, 700);
  return frames;
}
