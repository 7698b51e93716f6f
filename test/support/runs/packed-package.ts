import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cleanEnvironment } from './playwright-run.ts';
import { expectNoProcessWith } from '../processes/processes.ts';
import { perWorker, test as base } from '../worker.ts';

export const root = fileURLToPath(new URL('../../..', import.meta.url));

export const test = base.extend<{ directory: string; tarball: string }>({
  /** The packed package, with the build from before the tests. */
  tarball: perWorker(async (use, worker) => {
    const directory = worker.outputPath('packed');
    await mkdir(directory, { recursive: true });
    await run('npm', ['pack', '--ignore-scripts', '--pack-destination', directory], { cwd: root });
    const [name = ''] = await readdir(directory);
    await use(join(directory, name));
  }),

  /** A directory where Node doesn't find this repository's node_modules. */
  directory: async ({}, use) => {
    const directory = await mkdtemp(join(tmpdir(), 'installed-'));
    await use(directory);
    await expectNoProcessWith(directory);
    await rm(directory, { recursive: true });
  },
});

/** Runs a command and returns its stdout. Throws an error with the whole output if it fails. */
export async function run(command: string, args: string[], place: Place): Promise<string> {
  const { cwd, env: more, minutes = 3 } = place;
  const environment = Object.entries(cleanEnvironment()).filter(([name]) => !/^npm_/i.test(name));
  const env = { ...Object.fromEntries(environment), PLAYWRIGHT_POOL_DATA_DIR: join(cwd, 'data'), ...more };
  const options = { cwd, env, timeout: minutes * 60_000, maxBuffer: 64 * 1024 * 1024 };
  return new Promise((resolve, reject) => {
    execFile(command, args, options, (error, stdout, stderr) => {
      if (error) reject(new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`));
      else resolve(stdout);
    });
  });
}

type Place = { cwd: string; env?: Record<string, string>; minutes?: number };
