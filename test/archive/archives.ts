import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, readlink, symlink, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { compress } from '@mongodb-js/zstd';
import { expect } from '@playwright/test';
import { pack as tarPack, type Header } from 'tar-stream';
import { extract, type ExtractOptions } from '../../src/archive/index.ts';
import { outputPath } from '../support/runs/output-path.ts';
import { randomOf } from '../support/processes/random.ts';

/** Why tests with the command line's zstd are skipped, where it is missing. */
export const noZstd =
  spawnSync('zstd', ['--version']).error !== undefined && 'there is no zstd command here: apt-get install zstd';

export type TestEntry = Partial<Header> & { name: string; content?: string | Buffer };

/** A tar as tar-stream writes it, without asking what for. */
export async function tarOf(entries: TestEntry[]): Promise<Buffer> {
  const tar = tarPack();
  for (const { content = '', ...header } of entries) {
    const isFile = (header.type ?? 'file') === 'file';
    if (isFile) tar.entry({ mtime: new Date(0), ...header }, Buffer.from(content));
    else tar.entry({ mtime: new Date(0), ...header });
  }
  tar.finalize();
  return await buffer(Readable.from(tar));
}

export async function zstdOf(entries: TestEntry[]): Promise<Buffer> {
  return await compress(await tarOf(entries));
}

/** Corrects the checksum of the header at `offset`, after a change. */
export function sumHeader(tar: Buffer, offset: number): void {
  const header = tar.subarray(offset, offset + 512);
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
}

/** Bytes that zstd compresses a little. */
export function sampleBytes(length: number, seed = 1): Buffer {
  const random = randomOf(seed);
  const bytes = Buffer.alloc(length);
  for (let at = 0; at < length; at += 16) bytes.fill(random(256), at, Math.min(at + random(16), length));
  return bytes;
}

/**
 * A small user-data directory with special entries: an empty file and directory, a link, a name outside of ASCII, a
 * long name.
 */
export async function sampleDirectory(directory: string): Promise<string> {
  const deep = path.join(directory, 'Default', 'Local Storage', 'a'.repeat(120), 'b'.repeat(120));
  await mkdir(deep, { recursive: true });
  await mkdir(path.join(directory, 'Default', 'empty'));
  await writeFile(path.join(directory, 'Local State'), '{"a":1}', { mode: 0o600 });
  await writeFile(path.join(directory, 'Default', 'Cookies'), sampleBytes(40_000), { mode: 0o600 });
  await writeFile(path.join(directory, 'Default', 'LOCK'), '');
  await writeFile(path.join(directory, 'Default', 'größe 👍'), 'größe');
  await writeFile(path.join(directory, 'Default', 'tool'), '#!/bin/sh\n', { mode: 0o755 });
  await writeFile(path.join(deep, 'c'.repeat(150)), 'deep');
  await symlink('Cookies', path.join(directory, 'Default', 'link'));
  for (const [index, name] of ['Local State', 'Default/Cookies', 'Default/empty', 'Default'].entries()) {
    await utimes(path.join(directory, name), 1_600_000_000 + index, 1_600_000_000 + index);
  }
  return directory;
}

/**
 * The entries of a directory: for each name the kind, mode, time in seconds, and content, or the digest of a long
 * content.
 */
export async function contentOf(directory: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of (await readdir(directory, { recursive: true })).sort()) {
    const file = path.join(directory, name);
    const status = await lstat(file);
    const what = status.isSymbolicLink()
      ? `-> ${await readlink(file)}`
      : status.isFile()
        ? fingerprint(await readFile(file))
        : '/';
    found[name] = `${(status.mode & 0o777).toString(8)} ${Math.floor(status.mtimeMs / 1000)} ${what}`;
  }
  return found;
}

/** Extracts into a directory of the test's output, and returns its path. */
export async function extractHere(
  archive: Buffer | AsyncIterable<Uint8Array>,
  options?: ExtractOptions,
): Promise<string> {
  const directory = outputPath('target');
  await extract(Buffer.isBuffer(archive) ? Readable.from([archive]) : archive, directory, options);
  return directory;
}

/** Expects that an archive is refused, and that nothing is left of it. */
export async function expectRefused(
  archive: Buffer,
  error: { code: unknown; entry?: string; message?: unknown },
  options?: ExtractOptions,
): Promise<void> {
  const before = await readdir(outputPath());
  const thrown = await extractHere(archive, options).catch((refusal: unknown) => refusal);
  expect(thrown).toMatchObject({ name: 'ArchiveError', ...error });
  expect(await readdir(outputPath())).toEqual(before);
}

/** Runs a command in a shell. Returns what it writes, and throws what it complains of. */
export async function shell(command: string, directory: string, input?: Buffer): Promise<Buffer> {
  const child = spawn('sh', ['-c', command], { cwd: directory });
  child.stdin.on('error', () => {}).end(input);
  const [output, complaints, code] = await Promise.all([
    buffer(child.stdout),
    text(child.stderr),
    new Promise((resolve) => child.once('close', resolve)),
  ]);
  if (code !== 0) throw new Error(`${command}: ${complaints}`);
  return output;
}

function fingerprint(content: Buffer): string {
  return content.length < 100
    ? JSON.stringify(content.toString())
    : `${content.length} bytes ${createHash('sha256').update(content).digest('hex')}`;
}
