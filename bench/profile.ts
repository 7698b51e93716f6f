import { execFile } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { chromium } from '@playwright/test';
import { interleaved, interleavedWithoutWarmUp, median, type Comparison } from './comparison.ts';
import { measureCurve, type Curve } from './curve.ts';
import { apiKey, ServiceProcess } from './service.ts';
import { timeSuite } from './suite.ts';
import { withSuites } from './suites.ts';

const execute = promisify(execFile);
const downloader = fileURLToPath(new URL('download-profile.js', import.meta.url));
const packer = fileURLToPath(new URL('pack-profile.js', import.meta.url));
const environment = { ...process.env, PLAYWRIGHT_POOL_API_KEY: apiKey };

export const runs = 7;
export const needs = ['curl', 'zstd', 'tar'];

/**
 * Downloads a profile and extracts it to a user-data directory. Both sides use the same service and keep the archive in
 * memory.
 */
export async function run(runs: number): Promise<Comparison[]> {
  await using service = await ServiceProcess.start();
  const small = await storeProfile(service, 'small', 300);
  const peaks: number[] = [];
  const wall = await interleaved(runs, {
    ours: async () => {
      const { milliseconds, peak } = await download(service, 'small');
      peaks.push(peak);
      return milliseconds;
    },
    other: () => pipe(service, 'small'),
  });
  const fewRuns = Math.min(runs, 3);
  const packing: number[] = [];
  for (let run = 0; run < fewRuns; run++) packing.push(await peakOfPacking(small));
  const fewest = Math.min(runs, 2);
  const [carried, loaded] = [
    await compareLeases(service, fewest, 'small', true),
    await compareLeases(service, fewest, 'small', false),
  ];
  await storeProfile(service, 'large', 1000);
  const largePeaks: number[] = [];
  for (let run = 0; run < fewRuns; run++) largePeaks.push((await download(service, 'large')).peak);
  return [
    { measure: 'profile of 300 MB downloaded and unpacked, against curl | zstd -dc | tar x', unit: 'ms', ...wall },
    { measure: 'lease with a profile of 300 MB that the pool carries, over one without', unit: 'ms', ours: carried },
    { measure: 'lease with a profile of 300 MB that restarts the browser, over one without', unit: 'ms', ours: loaded },
    { measure: 'peak memory of packing 300 MB', unit: 'MB', ours: packing },
    { measure: 'peak memory of downloading and unpacking 300 MB', unit: 'MB', ours: peaks },
    { measure: 'peak memory for 1 GB, against that for 300 MB', unit: 'MB', ours: largePeaks, other: peaks },
  ];
}

/** How many milliseconds longer a lease with the profile takes up to its first context than a lease without. */
export async function compareLeases(
  service: ServiceProcess,
  runs: number,
  profile: string,
  carried: boolean,
): Promise<number[]> {
  const connection = { PLAYWRIGHT_POOL_BASE_URL: service.url, PLAYWRIGHT_POOL_API_KEY: apiKey };
  return await withSuites(connection, async (suite) => {
    const lease = (use: object) => async () => {
      const { environment, ...rest } = suite('lease', 'ours', 1);
      const file = environment!['BENCH_TIMES']!;
      await writeFile(file, '');
      await timeSuite({
        ...rest,
        environment: { ...environment, BENCH_LEASE: JSON.stringify({ poolLease: 'test', ...use }) },
      });
      // The first lease of a worker also loads code.
      return median((await readFile(file, 'utf8')).trimEnd().split('\n').slice(1).map(Number));
    };
    const { ours, other } = await interleavedWithoutWarmUp(runs, {
      ours: lease(
        carried
          ? {
              pool: { name: `with-${profile}`, size: 2, browsers: { profile: { name: profile } } },
              poolProfile: profile,
            }
          : { pool, poolProfile: profile },
      ),
      other: lease({ pool }),
    });
    return ours.map((took, run) => took - other[run]!);
  });
}

const pool = { name: 'without', size: 2 };

/** Measures how downloading and unpacking grow with the profile's size. */
export async function curves(): Promise<Curve[]> {
  await using service = await ServiceProcess.start();
  const sizes = [30, 100, 300, 1000];
  for (const megabytes of sizes) await storeProfile(service, String(megabytes), megabytes);
  const measure = 'downloading and unpacking a profile, by its MB';
  return [
    await measureCurve(
      { measure, unit: 'ms', sizes, runs: 3 },
      async (size) => (await download(service, String(size))).milliseconds,
    ),
  ];
}

/** Stores a user-data directory of Chromium with generated files, and returns its path. */
export async function storeProfile(
  { client, directory }: ServiceProcess,
  name: string,
  megabytes: number,
): Promise<string> {
  const profiles = path.join(directory, 'profiles');
  const before = new Set(await readdir(profiles));
  await client.profiles.create({ name });
  const session = await client.browsers.create({ profile: { name, save_changes: true } });
  await keepStorage(session.cdp_ws_url);
  await client.browsers.deleteByID(session.session_id);
  const stored = (await readdir(profiles)).find((version) => !before.has(version))!;
  const generated = path.join(profiles, stored, 'Default', 'Generated');
  await mkdir(generated);
  // Two thirds are in few large files, one third in many small ones.
  const small = 2000;
  for (let index = 0; index < small; index++)
    await writeFile(path.join(generated, `small-${index}`), content((megabytes * 1e6) / 3 / small));
  const large = 20;
  for (let index = 0; index < large; index++)
    await writeFile(path.join(generated, `large-${index}`), content((megabytes * 2e6) / 3 / large));
  return path.join(profiles, stored);
}

/** Three sites store data in a browser. */
async function keepStorage(endpoint: string): Promise<void> {
  const browser = await chromium.connectOverCDP(endpoint);
  const page = await browser.contexts()[0]!.newPage();
  await page.route('**/*', (route) => route.fulfill({ contentType: 'text/html', body: '' }));
  for (const site of ['one', 'two', 'three']) {
    await page.goto(`https://${site}.example/`);
    await page.evaluate("localStorage.setItem('login', 'kept'), document.cookie = 'login=kept; max-age=86400'");
  }
  await browser.close();
}

/** Half noise, like pictures in caches; half words, like scripts and databases. */
function content(size: number): Buffer {
  const half = Math.floor(size / 2);
  const start = randomInt(text.length - half);
  return Buffer.concat([randomBytes(size - half), text.subarray(start, start + half)]);
}

const words = Array.from({ length: 251 }, () => `${randomBytes(4).toString('base64url')} `);
/** Longer than any file. */
const text = Buffer.from(Array.from({ length: 4_000_000 }, () => words[randomInt(words.length)]).join(''));

async function download(service: ServiceProcess, name: string): Promise<{ milliseconds: number; peak: number }> {
  return await withTarget(async (target) => {
    const { stdout } = await execute(process.execPath, [downloader, service.url, name, path.join(target, 'profile')], {
      env: environment,
    });
    return JSON.parse(stdout) as { milliseconds: number; peak: number };
  });
}

/** In MB, of an own process. */
async function peakOfPacking(directory: string): Promise<number> {
  return await withTarget(async (target) => {
    const { stdout } = await execute(process.execPath, [packer, directory, path.join(target, 'archive')]);
    return Number(stdout);
  });
}

async function pipe(service: ServiceProcess, name: string): Promise<number> {
  return await withTarget(async (target) => {
    const script = `set -o pipefail
      curl --silent --fail --header "Authorization: Bearer $PLAYWRIGHT_POOL_API_KEY" "$0" | zstd -dc | tar x --directory "$1"`;
    const started = performance.now();
    await execute('bash', ['-c', script, `${service.url}/profiles/${name}/download`, target], { env: environment });
    return performance.now() - started;
  });
}

async function withTarget<T>(use: (directory: string) => Promise<T>): Promise<T> {
  const target = await mkdtemp(path.join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'playwright-pool-bench-'));
  try {
    return await use(target);
  } finally {
    await rm(target, { recursive: true });
  }
}
