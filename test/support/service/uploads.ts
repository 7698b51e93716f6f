import { readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { expect } from '@playwright/test';
import { ZipFile, type Options } from 'yazl';
import { mountSmallDisk } from '../processes/small-disk.ts';
import { sessionDirectory } from './machines.ts';
import { startTestService, test as base, type TestAnswer, type TestService } from './service.ts';
import { makeOutside, pathsIn, snapshot } from './session-files.ts';
import { perWorker } from '../worker.ts';

type Fixtures = {
  /** `/browsers/{id}/fs` of the session. */
  fs: string;
  /** Where that file system is on this machine. The session loses the test's files after the test. */
  root: string;
  /** A directory with files that isn't in that file system. The test must not change it. */
  outside: string;
  /** `root` on a disk of 1 MiB. */
  tinyRoot: string;
  /** Sends parts in one request, and returns the answer. */
  send: (operation: 'upload' | 'upload_zip', parts: Part[]) => Promise<TestAnswer>;
};

/** A part of a multipart body: a text, or a file with that content. */
export type Part = [name: string, content: string | Buffer, kind?: 'file'];

/** All tests of a worker have one service with one session. */
export const test = base.extend<Fixtures & { shared: { service: TestService; fs: string; root: string } }>({
  shared: perWorker(async (use, worker) => {
    const data = worker.outputPath('data');
    await using service = await startTestService({ dataDirectory: data });
    const { body } = await service.call('POST', '/browsers', { timeout_seconds: 3600 });
    const root = join(sessionDirectory(data, body.session_id), 'root');
    await use({ service, fs: `/browsers/${body.session_id}/fs`, root });
  }),
  service: async ({ shared }, use) => use(shared.service),
  fs: async ({ shared }, use) => use(shared.fs),
  root: async ({ shared: { root } }, use) => {
    const before = await pathsIn(root);
    await use(root);
    for (const path of await pathsIn(root))
      if (!before.includes(path)) await rm(path, { recursive: true, force: true });
  },
  outside: async ({}, use, testInfo) => {
    const outside = testInfo.outputPath('outside');
    await makeOutside(outside);
    const before = await contents(outside);
    await use(outside);
    expect(await contents(outside)).toBe(before);
  },
  tinyRoot: async ({ root }, use) => {
    using _ = mountSmallDisk(root, '1m');
    await use(root);
  },
  send: async ({ service, fs }, use) => {
    await use((operation, parts) =>
      service.call('POST', `${fs}/${operation}`, encoded(parts), { 'content-type': contentType }),
    );
  },
});

export const contentType = 'multipart/form-data; boundary=cut';

/** Parts as a client writes them by hand. */
export function encoded(parts: Part[]): Uint8Array<ArrayBuffer> {
  const bytes = parts.flatMap(([name, content, kind]) => {
    const file = kind ? '; filename="a"\r\nContent-Type: application/octet-stream' : '';
    const head = `--cut\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`;
    return [Buffer.from(head), Buffer.from(content), Buffer.from('\r\n')];
  });
  return Buffer.concat([...bytes, Buffer.from('--cut--\r\n')]);
}

export type ZipPart = { name: string; content?: string | Buffer; options?: Partial<Options> };

/** A zip archive; names with a slash at the end are directories. */
export async function zipOf(parts: ZipPart[]): Promise<Buffer> {
  const zip = new ZipFile();
  for (const { name, content, options } of parts) {
    if (content === undefined) zip.addEmptyDirectory(name, options);
    else zip.addBuffer(Buffer.from(content), name, options);
  }
  zip.end();
  return await buffer(zip.outputStream);
}

/** An archive with an unsafe name, which no library writes: replaces a safe name of the same length. */
export async function zipWith(name: string, content = 'x', options: Partial<Options> = {}): Promise<Buffer> {
  const harmless = 'a'.repeat(Buffer.byteLength(name));
  const before = { name: 'before', content: 'x' };
  const zip = await zipOf([before, { name: harmless, content, options }]);
  return Buffer.from(zip.toString('latin1').replaceAll(harmless, Buffer.from(name).toString('latin1')), 'latin1');
}

/** Sends the beginning of a body and hangs up when `ready` is true. */
export async function breakOff(
  service: { url: string; apiKey: string },
  path: string,
  beginning: Uint8Array,
  ready: () => boolean,
): Promise<void> {
  const headers = { authorization: `Bearer ${service.apiKey}`, 'content-type': contentType };
  const upload = request(`${service.url}${path}`, { method: 'POST', headers, agent: false });
  upload.on('error', () => {});
  upload.write(beginning);
  await expect.poll(ready).toBe(true);
  upload.destroy();
}

/** The running uploads. */
export function onTheirWay(root: string): string[] {
  // Uploads to a session with its own user are received outside of its root.
  return [root, dirname(root)]
    .flatMap((directory) => readdirSync(directory))
    .filter((name) => name.startsWith('.playwright-pool-upload-'));
}

/** Everything below a session's root, in one text. */
export async function contents(root: string): Promise<string> {
  return (await snapshot(root)).join('\n');
}
