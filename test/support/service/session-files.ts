import { chmod, lstat, mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { OperationError, type ErrorCode } from '../../../src/contract/errors.ts';
import { SessionFiles } from '../../../src/service/files/files.ts';
import { expect, test as base } from '../worker.ts';

/** A session's root beside a directory that no operation may reach. */
type Place = { root: string; outside: string };

export const test = base.extend<{ disk: string; place: Place; files: SessionFiles }>({
  /** The directory that contains the place. */
  disk: [tmpdir(), { option: true }],
  place: async ({ disk }, use) => {
    const directory = await realpath(await mkdtemp(path.join(disk, 'playwright-pool-files-')));
    const place = { root: path.join(directory, 'root'), outside: path.join(directory, 'outside') };
    await mkdir(path.join(place.root, 'home/user'), { recursive: true });
    await makeOutside(place.outside);
    await use(place);
    await rm(directory, { recursive: true });
  },
  files: async ({ place }, use) => use(new SessionFiles(place.root)),
});

export async function write(files: SessionFiles, at: string, text: string, mode = '644'): Promise<void> {
  await files.write(at, Readable.from(text ? [Buffer.from(text)] : []), mode, new AbortController().signal);
}

export async function read(files: SessionFiles, at: string): Promise<string> {
  return (await buffer((await files.read(at)).stream)).toString();
}

/** Fills the directory that no operation may reach. */
export async function makeOutside(directory: string): Promise<void> {
  await mkdir(path.join(directory, 'directory'), { recursive: true });
  await chmod(path.join(directory, 'directory'), 0o755);
  await writeFile(path.join(directory, 'secret'), 'outside');
  await chmod(path.join(directory, 'secret'), 0o644);
}

/** Everything below a directory: names, modes and contents. Doesn't follow links. */
export async function snapshot(directory: string): Promise<string[]> {
  const names = (await pathsIn(directory)).map((found) => path.relative(directory, found)).sort();
  return await Promise.all(
    names.map(async (name) => {
      const stats = await lstat(path.join(directory, name));
      const text = stats.isFile() ? ` ${await readFile(path.join(directory, name), 'utf8')}` : '';
      return `${name} 0${(stats.mode & 0o777).toString(8)}${text}`;
    }),
  );
}

/** All paths below a directory. Doesn't follow links. */
export async function pathsIn(directory: string): Promise<string[]> {
  // Without `withFileTypes`, `readdir` lists the directories that links lead to.
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  return entries.map(({ parentPath, name }) => path.join(parentPath, name));
}

export async function expectCode(operation: Promise<unknown>, code: ErrorCode, message = ''): Promise<void> {
  const error = await operation.then(
    () => 'no error',
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(OperationError);
  expect(error).toMatchObject({ code, message: expect.stringContaining(message) });
}
