import { statfs } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { inBytes } from './progress.ts';
import type { Examined, Finding } from './doctor.ts';

/** Below this a few profiles and replays fill the disk, in bytes. */
const littleSpace = 1e9;

const { engines, peerDependencies } = createRequire(import.meta.url)('playwright-pool/package.json') as {
  engines: { node: string };
  peerDependencies: { '@playwright/test': string };
};

/** Checks Node, Playwright and the disk. */
export async function checkMachine(examined: Examined): Promise<Finding[]> {
  return [checkNode(), checkPlaywright(examined), await checkDisk(examined)];
}

function checkNode(): Finding {
  const check = 'Node';
  const message = `${process.version}; ${engines.node} is needed`;
  if (isAtLeast(process.version, engines.node)) return { check, level: 'ok', message };
  return { check, level: 'failure', message, fix: 'install a newer one: https://nodejs.org/en/download' };
}

function checkPlaywright({ directory }: Examined): Finding {
  const check = 'Playwright';
  const needed = peerDependencies['@playwright/test'];
  try {
    const { version } = createRequire(join(directory, 'package.json'))('@playwright/test/package.json') as { version: string };
    const message = `@playwright/test ${version}; ${needed} is needed`;
    if (isAtLeast(version, needed)) return { check, level: 'ok', message };
    return { check, level: 'failure', message, fix: 'npm install --save-dev @playwright/test@latest' };
  } catch {
    const message = `@playwright/test is not installed in ${directory}`;
    return { check, level: 'failure', message, fix: 'run this in the directory of your tests, or npm init playwright@latest' };
  }
}

async function checkDisk({ options, env, directory }: Examined): Promise<Finding> {
  const { dataDirectoryFor } = await import('../service/data-directory.ts');
  const check = 'disk';
  const { bavail, bsize, place } = await spaceAt(options.dataDir ?? dataDirectoryFor(directory, env));
  const message = `${inBytes(bavail * bsize)} free at ${place}`;
  if (bavail * bsize >= littleSpace) return { check, level: 'ok', message };
  const fix = 'free some, or set PLAYWRIGHT_POOL_DATA_DIR to a directory with more: profiles and replays are kept there';
  return { check, level: 'warning', message, fix };
}

/** Of the nearest directory above that is there. */
async function spaceAt(place: string): Promise<{ bavail: number; bsize: number; place: string }> {
  try {
    const { bavail, bsize } = await statfs(place);
    return { bavail, bsize, place };
  } catch (error) {
    if (dirname(place) === place) throw error;
    return await spaceAt(dirname(place));
  }
}

/** `needed` as a package.json has it: `>=20.19`. */
function isAtLeast(version: string, needed: string): boolean {
  const [major = 0, minor = 0] = numbersIn(version);
  const [neededMajor = 0, neededMinor = 0] = numbersIn(needed);
  return major > neededMajor || (major === neededMajor && minor >= neededMinor);
}

function numbersIn(text: string): number[] {
  return Array.from(text.matchAll(/\d+/g), Number);
}
