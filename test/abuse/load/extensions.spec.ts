import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { extensionZip } from '../../support/views/extensions.ts';
import { dataDirectory, test, type Call } from '../../support/service/service.ts';
import { breakOff, contentType, encoded, zipOf, zipWith } from '../../support/service/uploads.ts';

test.use({ serviceOptions: async ({}, use, testInfo) => use({ dataDirectory: dataDirectory(testInfo) }) });

const MiB = 1024 * 1024;
const headers = { 'content-type': contentType };

type Archive = { zip: () => Promise<Buffer> | Buffer; status?: number; message: RegExp };

const invalid = /invalid zip file/;
const noManifest = /no manifest.json at its top/;
const link = { name: 'link', content: '/etc/passwd', options: { mode: 0o120777 } };
const hostile: Record<string, Archive> = {
  'is no zip file': { zip: () => Buffer.from('none'), message: invalid },
  'is empty': { zip: () => Buffer.alloc(0), message: invalid },
  'has no manifest': { zip: () => zipOf([{ name: 'folder/manifest.json', content: '{}' }]), message: noManifest },
  'has a directory as manifest': { zip: () => zipOf([{ name: 'manifest.json/' }]), message: noManifest },
  'has a huge manifest': {
    zip: () => zipOf([{ name: 'manifest.json', content: Buffer.alloc(MiB + 1, ' ') }]),
    status: 413,
    message: /manifest.json has 1048577 bytes/,
  },
  'leads out by dots': { zip: () => zipWith('../../escaped'), message: invalid },
  'has an absolute path': { zip: () => zipWith('/tmp/escaped'), message: invalid },
  'has a link': { zip: () => extensionZip('one', {}, [link]), message: /is a link/ },
};
const large: Record<string, Archive> = {
  'is a bomb': { zip: () => bomb(), status: 413, message: /would extract to/ },
  'has more than 50 MiB': { zip: () => Buffer.alloc(50 * MiB + 1), status: 413, message: /may have at most 50 MiB/ },
};

test('refuses invalid and hostile extensions, and keeps no file of them', async ({ service: { call } }, testInfo) => {
  const { body: session } = await call('POST', '/browsers', {});
  await expectRefusals(call, session.session_id, hostile);
  const empty = await call('POST', `/browsers/${session.session_id}/extensions`, encoded([]), headers);
  expect([empty.status, empty.body.message]).toEqual([400, expect.stringContaining('extensions')]);
  const many = Array.from({ length: 21 }, () => ({ name: 'x' }));
  expect((await call('POST', '/browsers', { extensions: many })).status).toBe(400);
  expect(readdirSync(join(dataDirectory(testInfo), 'extensions'))).toEqual([]);
  expect(existsSync('/tmp/escaped')).toBe(false);
  expect((await call('GET', `/browsers/${session.session_id}`)).status).toBe(200);
});

test('refuses extensions over the size limit @long', async ({ service: { call } }, testInfo) => {
  const { body: session } = await call('POST', '/browsers', {});
  await expectRefusals(call, session.session_id, large);
  expect(readdirSync(join(dataDirectory(testInfo), 'extensions'))).toEqual([]);
});

test('removes the uploaded part of an extension if the caller hangs up', async ({ service }, testInfo) => {
  const directory = join(dataDirectory(testInfo), 'extensions');
  const beginning = encoded([['file', await extensionZip('one'), 'file']]).subarray(0, 300);
  await breakOff(service, '/extensions', beginning, () => readdirSync(directory).length > 0);
  await expect.poll(() => readdirSync(directory)).toEqual([]);
});

test('deleting an extension fails only the starts that use it @long', async ({ service: { call } }, testInfo) => {
  const zip = await extensionZip('one', {}, [{ name: 'large', content: randomBytes(20 * MiB) }]);
  const parts = encoded([
    ['name', 'one'],
    ['file', zip, 'file'],
  ]);
  expect((await call('POST', '/extensions', parts, headers)).status).toBe(201);
  const started = Array.from({ length: 3 }, () =>
    call('POST', '/browsers', { headless: true, extensions: [{ name: 'one' }] }),
  );
  expect((await call('DELETE', '/extensions/one')).status).toBe(204);
  for (const { status, body } of await Promise.all(started)) {
    expect([200, 400], JSON.stringify(body)).toContain(status);
    if (status === 400) expect(body.message).toMatch(/^extensions: /);
  }
  await expect.poll(() => readdirSync(join(dataDirectory(testInfo), 'extensions'))).toEqual([]);
});

/** Uploads the archives, and loads them into a session. */
async function expectRefusals(call: Call, sessionId: string, archives: Record<string, Archive>): Promise<void> {
  for (const [name, { zip, status = 400, message }] of Object.entries(archives)) {
    await test.step(`an archive that ${name}`, async () => {
      const content = await zip();
      const stored = await call('POST', '/extensions', encoded([['file', content, 'file']]), headers);
      expect([stored.status, stored.body.message]).toEqual([status, expect.stringMatching(message)]);
      const parts = encoded([
        ['extensions[0][name]', 'x'],
        ['extensions[0][zip_file]', content, 'file'],
      ]);
      const loaded = await call('POST', `/browsers/${sessionId}/extensions`, parts, headers);
      expect([loaded.status, loaded.body.message]).toEqual([status, expect.stringMatching(message)]);
    });
  }
}

/** Some files of zeros that extract to 300 MiB. */
async function bomb(): Promise<Buffer> {
  const zeros = Buffer.alloc(100 * MiB);
  return await zipOf(['a', 'b', 'c'].map((name) => ({ name, content: zeros })));
}
