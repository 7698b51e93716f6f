import assert from 'node:assert/strict';
import { lstat, mkdir, open, rm, symlink } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { Worker } from 'node:worker_threads';
import { expect } from '@playwright/test';
import * as fc from 'fast-check';
import { OperationError } from '../../../src/contract/errors.ts';
import { SessionFiles } from '../../../src/service/files/files.ts';
import { expectCode, read, snapshot, test, write } from '../../support/service/session-files.ts';
import { isLong } from '../../support/processes/long-form.ts';

test('refuses malformed file paths', async ({ files }) => {
  await expectCode(files.read(''), 'bad_request', 'cannot be empty');
  await expectCode(files.read('relative'), 'bad_request', 'absolute');
  await expectCode(files.read('/nul\0'), 'bad_request', 'NUL');
  await expectCode(files.read(`/${'x'.repeat(256)}`), 'bad_request', 'xxx…" has a name that is too long');
  await expectCode(
    files.write(`/${'x'.repeat(300)}`, Readable.from([]), '644', new AbortController().signal),
    'bad_request',
  );
  await expectCode(files.read(`/${'x/'.repeat(3000)}`), 'bad_request', 'too long');
  await write(files, `/${'x'.repeat(255)}`, 'longest');
});

test("every file operation refuses every path that leads out of the session's files", async ({ files, place }) => {
  const link = (target: string, name: string) => symlink(target, path.join(place.root, name));
  await link(place.outside, 'absolute');
  await link('../outside', 'relative');
  await link('home/../../outside/secret', 'through-home');
  await link(path.join(place.outside, 'secret'), 'file');
  await link(path.join(place.outside, 'missing'), 'dangling');
  await link('dangling', 'link-to-dangling');
  await link('absolute/directory', 'link-through-link');
  await link(`${place.root}/../outside`, 'prefix');
  await link(`${place.root}side`, 'sibling');
  await link('/proc/self/root', 'proc');
  await link('loop', 'loop');
  const climbing = ['/..', '/../outside/secret', '/home/../../outside/secret'];
  const behind = ['/absolute/secret', '/relative/secret', '/relative/missing/below'];
  const links = ['/absolute', '/relative', '/through-home', '/file', '/dangling', '/link-to-dangling'];
  const others = ['/link-through-link', '/prefix', '/sibling', '/proc'];
  const below = ['/link-through-link/new', '/prefix/secret', '/proc/etc/passwd'];
  for (const out of [...climbing, ...behind, ...links, ...others, ...below]) {
    await expectCode(files.read(out), 'forbidden', "leads out of the session's directory");
    await expectCode(write(files, out, 'x'), 'forbidden');
    await expectCode(files.list(out), 'forbidden');
    await expectCode(files.info(out), 'forbidden');
    await expectCode(files.createDirectory(out, '755'), 'forbidden');
    await expectCode(files.setPermissions(out, '777'), 'forbidden');
  }
  for (const out of [...climbing, ...behind]) {
    await expectCode(files.deleteFile(out), 'forbidden');
    await expectCode(files.deleteDirectory(out), 'forbidden');
    await expectCode(files.move(out, '/home/stolen'), 'forbidden');
    await expectCode(files.move('/home', out), 'forbidden');
  }
  await expectCode(files.read('/loop'), 'bad_request', 'too many symbolic links');
  expect(await snapshot(place.outside)).toEqual(['directory 0755', 'secret 0644 outside']);
});

/** All operations on files. Each returns the texts that its caller sees. */
const operations: ((files: SessionFiles, at: string, other: string) => Promise<string>)[] = [
  (files, at) => read(files, at),
  async (files, at) => String(await write(files, at, 'inside')),
  async (files, at) => (await files.list(at)).map((info) => info.mode).join(),
  async (files, at) => (await files.info(at)).mode,
  async (files, at) => String(await files.createDirectory(at, '755')),
  async (files, at) => String(await files.deleteFile(at)),
  async (files, at) => String(await files.deleteDirectory(at)),
  async (files, at, other) => String(await files.move(at, other)),
  async (files, at) => String(await files.setPermissions(at, '700')),
];

test("random file paths over random links never lead out of the session's files @long", async ({ place }) => {
  test.slow();
  const name = fc.constantFrom('a', 'b', 'ü', '日本', ' ', '...', 'home', 'outside', 'secret', 'x'.repeat(255));
  const segment = fc.oneof({ weight: 4, arbitrary: name }, { weight: 2, arbitrary: fc.constantFrom('..', '.', '') });
  const relative = fc.array(segment, { minLength: 1, maxLength: 6 }).map((segments) => segments.join('/'));
  const absolute = relative.map((text) => `/${text}`);
  const target = fc.oneof(
    relative,
    relative.map((text) => `../${text}`),
    relative.map((text) => `${place.root}/${text}`),
    relative.map((text) => `${place.outside}/${text}`),
  );
  const content = fc.oneof(
    fc.record({ kind: fc.constant('link' as const), at: relative, target }),
    fc.record({ kind: fc.constantFrom('file' as const, 'directory' as const), at: relative, target: fc.constant('') }),
  );
  const operation = fc.record({
    act: fc.constantFrom(...operations),
    path: absolute,
    other: absolute,
  });
  const before = await snapshot(place.outside);
  const tree = fc.array(content, { maxLength: 12 });
  await fc.assert(
    // Without `expect`, which keeps each call as a step: so many of them take longer and longer.
    fc.asyncProperty(tree, fc.array(operation, { minLength: 1, maxLength: 12 }), async (contents, calls) => {
      await rm(place.root, { recursive: true });
      await mkdir(place.root);
      for (const { kind, at, target } of contents) await putBehindTheBack(place.root, kind, at, target);
      const files = new SessionFiles(place.root);
      for (const { act, path: at, other } of calls) {
        try {
          const seen = await act(files, at, other);
          assert.doesNotMatch(seen, /outside/);
        } catch (error) {
          if (!(error instanceof OperationError)) throw error;
          assert.ok(error.status < 500, error.message);
          assert.ok(!error.message.includes(place.root), error.message);
          assert.doesNotMatch(error.message, /\/proc\/self/);
        }
      }
      assert.deepEqual(await snapshot(place.outside), before);
    }),
    { numRuns: isLong ? 3000 : 300 },
  );
});

test('a directory that becomes a link during an operation opens no way out', async ({ files, place }) => {
  const seen = await seenDuring(
    `for (;;) {
       try { fs.rmSync(root + '/swap', { recursive: true, force: true }); fs.symlinkSync(outside, root + '/swap'); } catch {}
       try { fs.unlinkSync(root + '/swap'); fs.mkdirSync(root + '/swap'); fs.writeFileSync(root + '/swap/secret', 'inside'); } catch {}
     }`,
    place,
    'forbidden',
    () => [
      read(files, '/swap/secret'),
      write(files, '/swap/secret', 'inside').then(() => 'written'),
      files.deleteFile('/swap/secret').then(() => ''),
      files.deleteDirectory('/swap/directory').then(() => ''),
      files.move('/swap/secret', '/swap/moved').then(() => ''),
    ],
  );
  expect(await snapshot(place.outside)).toEqual(['directory 0755', 'secret 0644 outside']);
  expect(seen).toContain('forbidden');
  const harmless = new Set(['inside', 'written', '', 'forbidden', 'not_found', 'conflict', 'bad_request']);
  expect(seen.filter((text) => !harmless.has(text))).toEqual([]);
});

test('listing a directory shows no other one that a link in its place leads to', async ({ files, place }) => {
  await mkdir(path.join(place.root, 'directory'));
  await symlink(place.outside, path.join(place.root, 'link'));
  const seen = await seenDuring(
    `for (;;) for (const name of ['link', 'directory']) {
       fs.renameSync(root + '/' + name, root + '/swap');
       fs.renameSync(root + '/swap', root + '/' + name);
     }`,
    place,
    'inside',
    () => [files.list('/swap').then((found) => (found.length === 0 ? 'inside' : 'outside'))],
  );
  expect(seen).toContain('inside');
  expect(seen.filter((text) => !['inside', 'forbidden', 'not_found', 'bad_request'].includes(text))).toEqual([]);
});

/** The different results and error codes of attempts while a script changes the root in a thread of its own. */
async function seenDuring(
  script: string,
  place: { root: string; outside: string },
  awaited: string,
  attempt: () => Promise<string>[],
): Promise<string[]> {
  const begin = "const fs = require('node:fs'); const { root, outside } = require('node:worker_threads').workerData;";
  const exchange = new Worker(`${begin} ${script}`, { eval: true, workerData: place });
  const seen = new Set<string>();
  const end = Date.now() + (isLong ? 2000 : 500);
  while (Date.now() < end || (!seen.has(awaited) && Date.now() < end + 20_000)) {
    const attempts = attempt().map((result) =>
      result.catch((error: unknown) => (error instanceof OperationError ? error.code : String(error))),
    );
    for (const result of await Promise.all(attempts)) seen.add(result);
  }
  await exchange.terminate();
  return [...seen];
}

/** Puts something into the root behind the service's back, unless it cannot be there. */
async function putBehindTheBack(
  root: string,
  kind: 'link' | 'file' | 'directory',
  at: string,
  target: string,
): Promise<void> {
  const hostPath = path.join(root, at);
  if (hostPath === root || !hostPath.startsWith(`${root}/`)) return;
  try {
    // Made without following links: a parent that is a link would put things outside before the test begins.
    const parents = path
      .dirname(at)
      .split('/')
      .filter((name) => name !== '..');
    let parent = root;
    for (const name of parents) {
      parent = path.join(parent, name);
      await mkdir(parent).catch(() => {});
      if ((await lstat(parent)).isSymbolicLink()) return;
    }
    const entry = path.join(parent, path.basename(at));
    if (kind === 'link') await symlink(target, entry);
    else if (kind === 'directory') await mkdir(entry);
    else await (await open(entry, 'wx')).close();
  } catch {
    // Taken already, or not a possible name.
  }
}
