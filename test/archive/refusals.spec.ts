import { lstat, readdir, readFile, rm, readlink, stat } from 'node:fs/promises';
import path from 'node:path';
import { compress } from '@mongodb-js/zstd';
import { outputPath } from '../support/runs/output-path.ts';
import { expectRefused, extractHere, sumHeader, tarOf, zstdOf, type TestEntry } from './archives.ts';
import { expect, test } from '../support/worker.ts';

const file: TestEntry = { name: 'Default/file', content: 'content' };
const link = (name: string, linkname: string): TestEntry => ({ name, type: 'symlink', linkname });
const hardLink = (name: string, linkname: string): TestEntry => ({ name, type: 'link', linkname });

for (const [what, code, entries] of [
  ['an absolute name', 'unsafe_name', [{ name: '/tmp/escaped' }]],
  ['a name with ..', 'unsafe_name', [{ name: '../escaped' }]],
  ['a name with .. in the middle', 'unsafe_name', [file, { name: 'Default/../../escaped' }]],
  ['a name with .. that stays within', 'unsafe_name', [file, { name: 'Default/../inside' }]],
  ['a directory named ..', 'unsafe_name', [{ name: 'Default/..', type: 'directory' }]],
  ['a long name', 'unsafe_name', [{ name: `${'long/'.repeat(210)}name` }]],
  ['a name with a long part', 'unsafe_name', [{ name: `Default/${'l'.repeat(256)}` }]],
  ['a name with a long part in UTF-8', 'unsafe_name', [{ name: `Default/${'ö'.repeat(128)}` }]],
  ['a name with NUL', 'unsafe_name', [{ name: `Default/ö\0name` }]],
  ['a file in place of the directory itself', 'duplicate_entry', [{ name: '.' }]],
  ['a link to an absolute path', 'unsafe_link', [link('Default/link', '/etc/passwd')]],
  ['a link out of the directory', 'unsafe_link', [link('Default/link', '../../escaped')]],
  ['a link to the directory above', 'unsafe_link', [link('link', '..')]],
  ['a link target that is not UTF-8', 'unsafe_link', [link('link', 'a\ufffd')]],
  ['a link with a very long target', 'unsafe_link', [link('link', 'a/'.repeat(513))]],
  ['a link through a link', 'unsafe_link', [link('a/b/up', '..'), link('out', 'a/b/up/../..')]],
  [
    'a link through a link, past names that are none',
    'unsafe_link',
    [link('a/b/up', '..'), link('out', 'a/.//b/up/../..')],
  ],
  ['a link through a link that comes later', 'unsafe_link', [link('out', 'a/b/up/../..'), link('a/b/up', '..')]],
  ['a file behind a link', 'unsafe_name', [link('link', 'Default'), { name: 'link/file', content: 'x' }]],
  ['a file behind a file', 'unsafe_name', [file, { name: 'Default/file/behind' }]],
  ['a hard link to an absolute path', 'unsafe_name', [hardLink('link', '/etc/passwd')]],
  ['a hard link out of the directory', 'unsafe_name', [hardLink('link', '../escaped')]],
  ['a hard link to a missing file', 'unsafe_link', [hardLink('link', 'Default/later'), file]],
  ['a hard link to itself', 'unsafe_link', [hardLink('link', 'link')]],
  ['a hard link to a directory', 'unsafe_link', [file, hardLink('link', 'Default')]],
  ['a hard link to a link', 'unsafe_link', [link('symlink', 'Default/file'), hardLink('link', 'symlink')]],
  ['a FIFO', 'unsupported', [{ name: 'fifo', type: 'fifo' }]],
  ['a character device', 'unsupported', [{ name: 'device', type: 'character-device', devmajor: 1, devminor: 3 }]],
  ['a block device', 'unsupported', [{ name: 'device', type: 'block-device', devmajor: 8, devminor: 0 }]],
  [
    'a sparse file',
    'unsupported',
    [{ name: 'sparse', content: '1\n0\n1\n', pax: { 'GNU.sparse.major': '1', 'GNU.sparse.minor': '0' } }],
  ],
  ['a file twice', 'duplicate_entry', [file, file]],
  [
    'a directory twice',
    'duplicate_entry',
    [{ name: 'Default', type: 'directory' }, file, { name: 'Default/', type: 'directory' }],
  ],
  ['a file that is named otherwise', 'duplicate_entry', [file, { name: './Default//file' }]],
  ['a file in place of a directory', 'duplicate_entry', [file, { name: 'Default' }]],
  ['a directory in place of a file', 'duplicate_entry', [file, { name: 'Default/file', type: 'directory' }]],
  ['a link in place of a file', 'duplicate_entry', [file, link('Default/file', 'other')]],
  ['a name in other case', 'duplicate_entry', [file, { name: 'Default/FILE' }]],
  ['a directory in other case', 'duplicate_entry', [file, { name: 'default/other' }]],
  ['a name in another normal form', 'duplicate_entry', [{ name: 'u\u0308' }, { name: '\u00fc' }]],
] as [string, string, TestEntry[]][]) {
  test(`refuses an archive with ${what}`, async () => {
    const entry = entries.at(what.includes('comes later') || what.includes('a missing file') ? 0 : -1)!.name;
    await expectRefused(await zstdOf(entries), {
      code,
      entry,
      message: expect.stringContaining(JSON.stringify(entry).slice(0, 100)),
    });
    await expectRefused(await tarOf(entries), { code, entry });
  });
}

for (const [what, entry, damage, expected] of [
  [
    'an entry whose name is not UTF-8',
    { name: 'Default/x' },
    (tar: Buffer) => tar.fill(0xff, 8, 9),
    { code: 'unsafe_name', entry: 'Default/\ufffd' },
  ],
  [
    'a link without a target',
    link('link', 'x'),
    (tar: Buffer) => tar.fill(0, 157, 158),
    { code: 'unsafe_link', entry: 'link' },
  ],
  [
    'an entry of an unknown type',
    file,
    (tar: Buffer) => tar.write('S', 156, 'latin1'),
    { code: 'unsupported', entry: 'Default/file' },
  ],
  [
    'a header whose size is over the limit before reading its content',
    { name: 'huge', content: 'x' },
    (tar: Buffer) => tar.write('77777777777 ', 124, 'latin1'),
    { code: 'too_large', entry: 'huge', message: expect.stringContaining('4294967296 bytes (limits.bytes)') },
  ],
] as const) {
  test(`refuses ${what}`, async () => {
    const tar = await tarOf([entry]);
    damage(tar);
    sumHeader(tar, 0);
    await expectRefused(tar, expected);
  });
}

test.describe('limits', () => {
  const many = Array.from({ length: 12 }, (_, index): TestEntry => ({ name: `file-${index}` }));

  test('refuses an archive at the first entry above the limit of entries', async () => {
    await expectRefused(
      await zstdOf(many),
      { code: 'too_many_entries', entry: 'file-10' },
      { limits: { entries: 10 } },
    );
    await extractHere(await zstdOf(many), { limits: { entries: 12 } });
  });

  test('counts skipped entries and implicit directories towards the limit of entries', async () => {
    const deep = await zstdOf([{ name: 'a/b/c/d/e/file' }]);
    await expectRefused(deep, { code: 'too_many_entries', entry: 'a/b/c/d/e/file' }, { limits: { entries: 5 } });
    const locks = await zstdOf(many.map(({ name }) => ({ name: `Crashpad/${name}` })));
    await expectRefused(locks, { code: 'too_many_entries', entry: 'Crashpad/file-5' }, { limits: { entries: 5 } });
  });

  test('refuses the entry that exceeds the limit of the total size, before writing it', async () => {
    const entries = [...many.slice(0, 3), { name: 'large', content: 'x'.repeat(10_000) }];
    await expectRefused(await zstdOf(entries), { code: 'too_large', entry: 'large' }, { limits: { bytes: 4000 } });
    await expectRefused(await zstdOf(many), { code: 'too_large', entry: 'file-4' }, { limits: { bytes: 5 * 512 } });
    await extractHere(await zstdOf(many), { limits: { bytes: 12 * 512 + 1024 } });
  });

  test('refuses an archive that extracts to more than 200 times its size, unless the content is small', async () => {
    await extractHere(await zstdOf([{ name: 'zeros', content: Buffer.alloc(30_000_000) }]));
    await rm(outputPath('target'), { recursive: true });
    const zeros = await zstdOf([file, { name: 'zeros', content: Buffer.alloc(60_000_000) }]);
    expect(zeros.length).toBeLessThan(60_000_000 / 200);
    await expectRefused(zeros, {
      code: 'too_large',
      entry: 'zeros',
      message: expect.stringContaining('200 times'),
    });
    const copy = await extractHere(zeros, { limits: { ratio: 100_000 } });
    expect((await stat(path.join(copy, 'zeros'))).size).toBe(60_000_000);
  });

  test("counts zero bytes after the tar's end as extracted bytes, even without any entry", async () => {
    const bytes = 5000;
    await expectRefused(await compress(Buffer.alloc(10_240)), { code: 'too_large' }, { limits: { bytes } });
    const padded = await compress(Buffer.concat([await tarOf([file]), Buffer.alloc(10_240)]));
    await expectRefused(padded, { code: 'too_large', entry: 'Default/file' }, { limits: { bytes } });
  });
});

test.describe('not refused', () => {
  test('accepts all that tar writes for a directory: its root, links to neighbours, and modes without set-user-id', async () => {
    const copy = await extractHere(
      await zstdOf([
        { name: './', type: 'directory', mode: 0o750 },
        { name: './Default/', type: 'directory', mode: 0o555 },
        { name: './Default/file', content: 'content', mode: 0o6755 },
        hardLink('./Default/same', './Default/file'),
        link('./Default/near', 'file'),
        link('./near', './Default/../Default/file'),
        link('./dangling', 'nowhere'),
        link('./root', '.'),
        { name: './unreadable', content: 'x', mode: 0o004 },
      ]),
    );
    const modeOf = async (name: string) => (await lstat(path.join(copy, name))).mode & 0o7777;
    expect(await modeOf('.')).toBe(0o750);
    expect(await modeOf('Default')).toBe(0o755);
    expect(await modeOf('Default/file')).toBe(0o755);
    expect(await modeOf('unreadable')).toBe(0o604);
    expect((await stat(path.join(copy, 'Default/same'))).ino).toBe((await stat(path.join(copy, 'Default/file'))).ino);
    expect(await readFile(path.join(copy, 'near'), 'utf8')).toBe('content');
    expect(await readlink(path.join(copy, 'dangling'))).toBe('nowhere');
  });

  test('leaves out the lock files in a foreign archive', async () => {
    const copy = await extractHere(
      await zstdOf([
        file,
        link('./SingletonLock', 'elsewhere-123'),
        link('./SingletonSocket', '/tmp/org.chromium/SingletonSocket'),
        { name: './Crashpad/reports/1.dmp', content: 'memory' },
      ]),
    );
    expect(await readdir(copy)).toEqual(['Default']);
  });

  test('creates parent directories that have no entry of their own', async () => {
    const copy = await extractHere(
      await zstdOf([
        { name: 'a/b/c', content: 'x' },
        { name: 'a', type: 'directory', mode: 0o700 },
      ]),
    );
    expect(await readFile(path.join(copy, 'a/b/c'), 'utf8')).toBe('x');
  });

  test("accepts entries with times that file systems can't store", async () => {
    const tar = await tarOf([{ name: 'file' }, { name: 'directory', type: 'directory' }]);
    for (const offset of [0, 512]) {
      tar.fill(0xff, offset + 136, offset + 148);
      if (offset > 0) tar[offset + 136] = 0x80;
      sumHeader(tar, offset);
    }
    const copy = await extractHere(tar);
    expect((await stat(path.join(copy, 'file'))).mtimeMs).toBe(0);
  });
});
