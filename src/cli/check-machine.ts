import { readFile, statfs } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { inBytes } from './progress.ts';
import { checkPlaywright, isIn } from './check-playwright.ts';
import type { Examined, Finding } from './finding.ts';

/** With less free space than this, `doctor` warns. In bytes: a few profiles and replays fill it. */
const littleSpace = 1e9;

const { engines } = createRequire(import.meta.url)('playwright-pool/package.json') as { engines: { node: string } };

/** The checks of `doctor` that need no service: the versions of Node and Playwright, and the free disk space. */
export async function checkMachine(examined: Examined): Promise<Finding[]> {
  return [
    checkNode(),
    await checkPlaywright(examined),
    ...(await checkPlugAndPlay(examined)),
    await checkDisk(examined),
  ];
}

function checkNode(): Finding {
  const check = 'Node';
  const message = `${process.version}; ${engines.node} is needed`;
  if (isIn(engines.node, process.version)) return { check, level: 'ok', message };
  return { check, level: 'failure', message, fix: 'install such a version: https://nodejs.org/en/download' };
}

/** Under Yarn's Plug'n'Play, `require` loads an ES module, but doesn't find the packages that this module imports. */
async function checkPlugAndPlay({ directory }: Examined): Promise<Finding[]> {
  if (process.versions['pnp'] === undefined) return [];
  const manifest = await readFile(join(directory, 'package.json'), 'utf8').catch(() => '{}');
  const { type } = JSON.parse(manifest) as { type?: string };
  const check = 'packages';
  if (type === 'module') return [{ check, level: 'ok', message: "Yarn's Plug'n'Play, and tests are ES modules" }];
  const message = "CommonJS tests can't load playwright-pool under Yarn's Plug'n'Play";
  const fix = 'set "type": "module" in package.json, or nodeLinker: node-modules in .yarnrc.yml, and run yarn install';
  return [{ check, level: 'failure', message, fix }];
}

async function checkDisk({ options, env, directory }: Examined): Promise<Finding> {
  const { dataDirectoryFor } = await import('../service/process/start/data-directory.ts');
  const check = 'disk';
  const { bavail, bsize, place } = await spaceAt(options.dataDir ?? dataDirectoryFor(directory, env));
  const message = `${inBytes(bavail * bsize)} free at ${place}`;
  if (bavail * bsize >= littleSpace) return { check, level: 'ok', message };
  const fix =
    'free disk space, or set PLAYWRIGHT_POOL_DATA_DIR to a directory on another disk. The service keeps profiles and replays there';
  return { check, level: 'warning', message, fix };
}

/** The free space at a path. If it doesn't exist, at the nearest existing directory above. */
async function spaceAt(place: string): Promise<{ bavail: number; bsize: number; place: string }> {
  try {
    const { bavail, bsize } = await statfs(place);
    return { bavail, bsize, place };
  } catch (error) {
    if (dirname(place) === place) throw error;
    return await spaceAt(dirname(place));
  }
}
