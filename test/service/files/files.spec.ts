import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, readlink, stat, symlink } from 'node:fs/promises';
import path from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { promisify } from 'node:util';
import { expect } from '@playwright/test';
import { OperationError } from '../../../src/contract/errors.ts';
import { expectCode, read, test, write } from '../../support/service/session-files.ts';

const run = promisify(execFile);

test('writes a file with its parent directories, and reads it back with its size', async ({ files, place }) => {
  await write(files, '/home/user/deep/er/a.txt', 'hello');
  expect(await readFile(path.join(place.root, 'home/user/deep/er/a.txt'), 'utf8')).toBe('hello');
  expect(await read(files, '/home/user/deep/er/a.txt')).toBe('hello');
  const { stream, size } = await files.read('/home/user/../user//deep/./er/a.txt');
  stream.destroy();
  expect(size).toBe(5);
  expect((await stat(path.join(place.root, 'home/user/deep'))).mode & 0o777).toBe(0o755);

  await write(files, '/empty', '');
  expect(await read(files, '/empty')).toBe('');
  expect(await files.info('/empty')).toMatchObject({ size_bytes: 0, is_dir: false });
});

test('sets the mode of a new file only, and the given modification time', async ({ files }) => {
  const umask = process.umask(0o077);
  try {
    await write(files, '/made/a', 'one', '666');
    await files.createDirectory('/public', '777');
  } finally {
    process.umask(umask);
  }
  expect(await files.info('/made/a')).toMatchObject({ mode: '-rw-rw-rw-' });
  expect(await files.info('/made')).toMatchObject({ mode: 'drwxr-xr-x' });
  expect(await files.info('/public')).toMatchObject({ mode: 'drwxrwxrwx' });
  await files.setPermissions('/made/a', '640');
  await write(files, '/made/a', 'two', '777');
  expect(await files.info('/made/a')).toMatchObject({ mode: '-rw-r-----' });
  expect(await read(files, '/made/a')).toBe('two');

  for (const modTime of ['2001-09-09T01:46:40.123Z', '2020-01-01T00:00:00.000Z']) {
    await files.write('/timed', Readable.from([Buffer.from('x')]), '644', new AbortController().signal, modTime);
    expect(await files.info('/timed')).toMatchObject({ mod_time: modTime });
  }
});

test("writing to a link within the session's files changes its target", async ({ files, place }) => {
  await write(files, '/target', 'old');
  await symlink('../target', path.join(place.root, 'home/link'));
  await symlink(path.join(place.root, 'new'), path.join(place.root, 'home/dangling'));
  await write(files, '/home/link', 'new');
  await write(files, '/home/dangling', 'made');
  expect(await read(files, '/target')).toBe('new');
  expect(await read(files, '/new')).toBe('made');
  expect(await readlink(path.join(place.root, 'home/link'))).toBe('../target');
});

test('an upload that ends early keeps the old file, and no part of the new one', async ({ files, place }) => {
  await write(files, '/home/a', 'old');
  for (const breakOff of ['abort', 'error'] as const) {
    const hangUp = new AbortController();
    const upload = new PassThrough();
    const written = files.write('/home/a', upload, '644', hangUp.signal);
    upload.write(Buffer.alloc(300_000));
    await expect.poll(async () => (await readdir(path.join(place.root, 'home'))).length).toBe(3);
    expect(await files.list('/home')).toHaveLength(2);
    if (breakOff === 'abort') hangUp.abort();
    else upload.destroy(new Error('aborted'));
    await expectCode(written, 'bad_request', 'ended before it was complete');
    expect(await readdir(path.join(place.root, 'home'))).toEqual(['a', 'user']);
    expect(await read(files, '/home/a')).toBe('old');
  }

  const refusing = Readable.from(
    (function* () {
      yield Buffer.from('some');
      throw new OperationError('payload_too_large', 'too large');
    })(),
  );
  await expectCode(files.write('/a', refusing, '644', new AbortController().signal), 'payload_too_large');
  expect(await readdir(place.root)).toEqual(['home']);
});

test('streams a file of 200 MB with little memory', async ({ files }) => {
  const size = 200 * 1024 * 1024;
  const chunk = Buffer.alloc(64 * 1024, 'x');
  const before = process.memoryUsage().rss;
  let most = before;
  const source = Readable.from(
    (function* () {
      for (let sent = 0; sent < size; sent += chunk.length) {
        most = Math.max(most, process.memoryUsage().rss);
        yield chunk;
      }
    })(),
  );
  await files.write('/large', source, '644', new AbortController().signal);
  const answer = await files.read('/large');
  expect(answer.size).toBe(size);
  let received = 0;
  for await (const part of answer.stream) {
    received += (part as Buffer).length;
    most = Math.max(most, process.memoryUsage().rss);
  }
  expect(received).toBe(size);
  expect((most - before) / 1024 / 1024).toBeLessThan(100);
});

test('answers 507 on a full disk, and keeps no part of the file', async ({ place, files }) => {
  const mayMount = process.platform === 'linux' && process.getuid?.() === 0;
  test.skip(!mayMount, 'only root on Linux may mount a small file system');
  const small = path.join(place.root, 'small');
  await mkdir(small);
  await run('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', small]);
  try {
    const upload = Readable.from(Array.from({ length: 64 }, () => Buffer.alloc(64 * 1024)));
    const written = files.write('/small/a', upload, '644', new AbortController().signal);
    await expectCode(written, 'insufficient_storage', '"/small/a"');
    expect(upload.destroyed).toBe(false);
    expect(await readdir(small)).toEqual([]);
    await write(files, '/small/a', 'fits');
    await expectCode(files.move('/small/a', '/home/a'), 'bad_request', 'another file system');
  } finally {
    await run('umount', [small]);
  }
});

test('refuses a FIFO and other special files without waiting', async ({ files, place }) => {
  await run('mkfifo', [path.join(place.root, 'fifo')]);
  await expectCode(files.read('/fifo'), 'bad_request', 'not a regular file');
  await expectCode(write(files, '/fifo', 'x'), 'bad_request', 'not a regular file');
  expect(await files.info('/fifo')).toMatchObject({ mode: expect.stringMatching(/^p/) });
  await expectCode(files.read('/home'), 'bad_request', 'is a directory');
  await expectCode(write(files, '/home', 'x'), 'bad_request', 'is a directory');
  await expectCode(write(files, '/', 'x'), 'bad_request');
});
test('lists one directory level by name, and links instead of their targets', async ({ files, place }) => {
  await write(files, '/home/user/b', '12');
  await write(files, '/home/user/a', '1', '600');
  await files.createDirectory('/home/user/directory/below', '755');
  await symlink(place.outside, path.join(place.root, 'home/user/link'));
  expect(await files.list('/home/user/')).toEqual([
    entry('a', 1, '-rw-------'),
    entry('b', 2, '-rw-r--r--'),
    entry('directory', 0, 'drwxr-xr-x', true),
    expect.objectContaining({ name: 'link', is_dir: false, mode: 'lrwxrwxrwx' }),
  ]);
  expect(await files.list('/home/user/directory/below')).toEqual([]);
  expect((await files.list('/')).map((info) => info.path)).toEqual(['/home']);
  await expectCode(files.list('/home/user/a'), 'bad_request', 'not a directory');
  await expectCode(files.list('/nowhere'), 'not_found');
});

test("file_info follows links within the session's files", async ({ files, place }) => {
  await write(files, '/home/a', '123');
  await symlink('home/a', path.join(place.root, 'link'));
  expect(await files.info('/link')).toMatchObject({ name: 'link', path: '/link', size_bytes: 3, mode: '-rw-r--r--' });
  expect(await files.info('/')).toMatchObject({ name: '/', path: '/', is_dir: true });
  await chmod(path.join(place.root, 'home/a'), 0o6711);
  await chmod(path.join(place.root, 'home'), 0o1776);
  expect(await files.info('/home/a')).toMatchObject({ mode: '-rws--s--x' });
  expect(await files.info('/home')).toMatchObject({ mode: 'drwxrwxrwT' });
  await expectCode(files.info('/nowhere'), 'not_found', 'path not found: "/nowhere"');
  await expectCode(files.info('/link/below'), 'not_found');
});

test('create_directory accepts an existing directory and refuses an existing file', async ({ files }) => {
  await files.createDirectory('/a/b', '700');
  await files.createDirectory('/a/b', '755');
  await files.createDirectory('/', '755');
  expect(await files.info('/a/b')).toMatchObject({ mode: 'drwx------' });
  await write(files, '/file', 'x');
  await expectCode(files.createDirectory('/file', '755'), 'conflict');
  await expectCode(files.createDirectory('/file/below', '755'), 'conflict', '"/file/below"');
  await expectCode(write(files, '/file/below', 'x'), 'bad_request', 'a file exists where a directory is needed');
});

test('delete_file deletes files, links and empty directories', async ({ files, place }) => {
  await write(files, '/full/a', 'x');
  await files.createDirectory('/empty', '755');
  await symlink('full', path.join(place.root, 'link'));
  await expectCode(files.deleteFile('/full'), 'conflict', 'not empty');
  await files.deleteFile('/link');
  await files.deleteFile('/empty');
  await files.deleteFile('/full/a');
  await expectCode(files.deleteFile('/full/a'), 'not_found', 'file not found: "/full/a"');
  expect(await readdir(place.root)).toEqual(['full', 'home']);
});

test('delete_directory may be repeated, and never follows links', async ({ files, place }) => {
  await write(files, '/full/deep/a', 'x');
  await symlink(place.outside, path.join(place.root, 'full/deep/link'));
  await symlink('full', path.join(place.root, 'link'));
  await files.deleteDirectory('/link');
  expect(await read(files, '/full/deep/a')).toBe('x');
  await files.deleteDirectory('/full');
  await files.deleteDirectory('/full');
  await files.deleteDirectory('/nowhere/below');
  await write(files, '/file', 'x');
  await files.deleteDirectory('/file');
  expect(await readdir(place.root)).toEqual(['home']);
  expect(await readFile(path.join(place.outside, 'secret'), 'utf8')).toBe('outside');
});

test('move replaces an existing file, and refuses impossible renames and the root', async ({ files }) => {
  await write(files, '/a', 'a');
  await write(files, '/b', 'b');
  await files.move('/a', '/b');
  expect(await read(files, '/b')).toBe('a');
  await files.move('/b', '/home/user/c');
  await files.move('/home', '/house');
  expect(await read(files, '/house/user/c')).toBe('a');
  await expectCode(files.move('/a', '/d'), 'not_found', 'source not found: "/a"');
  await expectCode(files.move('/house/user/c', '/nowhere/c'), 'not_found');
  await expectCode(files.move('/house', '/house/user/house'), 'bad_request', 'into itself');
  await expectCode(files.move('/house/user/c', '/house'), 'conflict');
  await files.createDirectory('/other', '755');
  await expectCode(files.move('/other', '/house/user/c'), 'conflict', 'a file exists where a directory is needed');
  await expectCode(files.move('/other', '/house'), 'conflict', 'not empty');
  await expectCode(files.move('/house/user/c', '/other'), 'conflict', 'a directory exists there');
  await expectCode(files.move('/house/user/c/below', '/d'), 'not_found');

  for (const root of ['/', '//', '/home/..', '/.']) {
    await expectCode(files.deleteFile(root), 'forbidden');
    await expectCode(files.deleteDirectory(root), 'forbidden');
    await expectCode(files.move(root, '/home/root'), 'forbidden');
    await expectCode(files.move('/home', root), 'forbidden');
  }
});

test('set_file_permissions sets mode and owner, but no set-user-id', async ({ files, place }) => {
  await write(files, '/a', 'a');
  await files.setPermissions('/a', '4711', 'nobody-of-this-name', 'no-such-group');
  expect(await files.info('/a')).toMatchObject({ mode: '-rwx--x--x' });
  await expectCode(files.setPermissions('/nowhere', '600'), 'not_found');
  if (process.getuid?.() === 0) {
    await files.setPermissions('/a', '4711', 'daemon', '12');
    expect(await files.info('/a')).toMatchObject({ mode: '-rwx--x--x' });
    expect(await stat(path.join(place.root, 'a'))).toMatchObject({ uid: 1, gid: 12 });
    await write(files, '/a', 'b');
    expect(await stat(path.join(place.root, 'a'))).toMatchObject({ uid: 1, gid: 12 });
  }
});

/** The description of an entry of /home/user. */
function entry(name: string, size_bytes: number, mode: string, is_dir = false) {
  return { name, path: `/home/user/${name}`, size_bytes, is_dir, mod_time: expect.any(String), mode };
}
