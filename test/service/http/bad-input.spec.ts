import { sessionDirectory } from '../../support/service/machines.ts';
import { readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { dataDirectory, test as base, type Call } from '../../support/service/service.ts';
import { makeOutside, snapshot } from '../../support/service/session-files.ts';

type Mistake = {
  call: (call: Call, id: string) => ReturnType<Call>;
  status: number;
  code: string;
  field?: string | RegExp;
};

const test = base.extend({
  serviceOptions: async ({}, use, testInfo) => use({ dataDirectory: dataDirectory(testInfo), bodyLimit: 10_000 }),
});

const mistakes: Record<string, Mistake> = {
  'an unknown pool': {
    call: (call) => call('POST', '/browser_pools/nowhere/acquire', {}),
    status: 404,
    code: 'not_found',
  },
  'an unknown session': { call: (call) => call('GET', '/browsers/nowhere'), status: 404, code: 'not_found' },
  'an unknown profile': { call: (call) => call('GET', '/profiles/nowhere'), status: 404, code: 'not_found' },
  'a session that is to be released by a pool that does not have it': {
    call: async (call, id) => {
      await call('POST', '/browser_pools', { size: 1, name: 'other' });
      return call('POST', '/browser_pools/other/release', { session_id: id });
    },
    status: 404,
    code: 'not_found',
  },
  'a wrong key': {
    call: (call) => call('GET', '/browsers', undefined, { authorization: 'Bearer wrong' }),
    status: 401,
    code: 'unauthorized',
  },
  'a relative path': {
    call: (call, id) => call('GET', `/browsers/${id}/fs/read_file?path=a.txt`),
    status: 400,
    code: 'bad_request',
    field: /^path: .*absolute/,
  },
  'a path with a NUL character': {
    call: (call, id) => call('GET', `/browsers/${id}/fs/read_file?path=/a%00b`),
    status: 400,
    code: 'bad_request',
    field: /^path: /,
  },
  'no path': {
    call: (call, id) => call('GET', `/browsers/${id}/fs/read_file`),
    status: 400,
    code: 'bad_request',
    field: /^path: /,
  },
  'the mode 9z9': {
    call: (call, id) => call('PUT', `/browsers/${id}/fs/write_file?path=/a&mode=9z9`, 'x'),
    status: 400,
    code: 'bad_request',
    field: /^mode: .*octal/,
  },
  'a missing file': {
    call: (call, id) => call('GET', `/browsers/${id}/fs/read_file?path=/nowhere`),
    status: 404,
    code: 'not_found',
  },
  'a directory that is read as a file': {
    call: (call, id) => call('GET', `/browsers/${id}/fs/read_file?path=/tmp`),
    status: 400,
    code: 'bad_request',
  },
  'telemetry that is off, with categories': {
    call: (call, id) =>
      call('PATCH', `/browsers/${id}`, { telemetry: { enabled: false, browser: { console: { enabled: true } } } }),
    status: 400,
    code: 'bad_request',
    field: /^telemetry: .*not both/,
  },
  'files by the name of a session': {
    call: (call) => call('GET', '/browsers/named/fs/list_files?path=/'),
    status: 404,
    code: 'not_found',
  },
  'a body over the limit': {
    call: (call) => call('POST', '/browsers', { tags: { a: 'x'.repeat(11_000) } }),
    status: 413,
    code: 'payload_too_large',
  },
  'a file over the limit': {
    call: (call, id) => call('PUT', `/browsers/${id}/fs/write_file?path=/a`, 'x'.repeat(11_000)),
    status: 413,
    code: 'payload_too_large',
  },
  'malformed JSON': {
    call: (call) => call('POST', '/browsers', '{"name":', { 'content-type': 'application/json' }),
    status: 400,
    code: 'bad_request',
  },
  'a body that is no object': {
    call: (call) => call('POST', '/browsers', '"x"', { 'content-type': 'application/json' }),
    status: 400,
    code: 'bad_request',
    field: /^body: /,
  },
  'a body that is no JSON': {
    call: (call) => call('POST', '/browsers', 'name=x', { 'content-type': 'text/plain' }),
    status: 415,
    code: 'unsupported_media_type',
  },
  'no body where one is needed': {
    call: (call) => call('POST', '/browser_pools'),
    status: 400,
    code: 'bad_request',
    field: /^body: /,
  },
  'an unknown field of a closed body': {
    call: (call, id) => call('POST', `/browsers/${id}/computer/type`, { text: 'x', txt: 'x' }),
    status: 400,
    code: 'bad_request',
    field: 'txt: unknown field',
  },
  'an unknown field inside another of a closed body': {
    call: (call, id) =>
      call('POST', `/browsers/${id}/computer/screenshot`, { region: { x: 0, y: 0, width: 1, height: 1, depth: 1 } }),
    status: 400,
    code: 'bad_request',
    field: 'region.depth: unknown field',
  },
  'a wrong value beside an unknown field': {
    call: (call) => call('POST', '/browsers', { nme: 'x', viewport: { width: 0, height: 1, depth: 1 } }),
    status: 400,
    code: 'bad_request',
    field: /^viewport\.width: /,
  },
  'a viewport of 0': {
    call: (call) => call('POST', '/browsers', { viewport: { width: 0, height: 0 } }),
    status: 400,
    code: 'bad_request',
    field: /^viewport\.width: /,
  },
  'a pool size of 0': {
    call: (call) => call('POST', '/browser_pools', { size: 0 }),
    status: 400,
    code: 'bad_request',
    field: /^size: /,
  },
  'a pool size that is text': {
    call: (call) => call('POST', '/browser_pools', { size: '2' }),
    status: 400,
    code: 'bad_request',
    field: /^size: /,
  },
  'a proxy that does not exist': {
    call: (call) => call('POST', '/browsers', { proxy_id: 'x' }),
    status: 400,
    code: 'bad_request',
    field: /^proxy_id: /,
  },
  'an invocation that does not exist': {
    call: (call) => call('POST', '/browsers', { invocation_id: 'x' }),
    status: 400,
    code: 'bad_request',
    field: /^invocation_id: /,
  },
  'an idle timeout below 10 s': {
    call: (call) => call('POST', '/browsers', { timeout_seconds: 9 }),
    status: 400,
    code: 'bad_request',
    field: /^timeout_seconds: /,
  },
  'a page size of 101': {
    call: (call) => call('GET', '/profiles?limit=101'),
    status: 400,
    code: 'bad_request',
    field: /^limit: /,
  },
  'a page size of 0': {
    call: (call) => call('GET', '/profiles?limit=0'),
    status: 400,
    code: 'bad_request',
    field: /^limit: /,
  },
  'an offset that is no number': {
    call: (call) => call('GET', '/profiles?offset=x'),
    status: 400,
    code: 'bad_request',
    field: /^offset: /,
  },
  'a name with a space': {
    call: (call) => call('POST', '/profiles', { name: 'a b' }),
    status: 400,
    code: 'bad_request',
    field: /^name: must be/,
  },
  'a tag with a forbidden character': {
    call: (call) => call('POST', '/browsers', { tags: { a: 'ü' } }),
    status: 400,
    code: 'bad_request',
    field: /^tags\.a: /,
  },
  'too many tags': {
    call: (call) =>
      call('POST', '/browsers', {
        tags: Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`t${index}`, ''])),
      }),
    status: 400,
    code: 'bad_request',
    field: /^tags: .*50/,
  },
  'more tags than are looked at': {
    call: (call) =>
      call('POST', '/browsers', {
        tags: Array.from({ length: 2001 }, () => 0),
      }),
    status: 400,
    code: 'bad_request',
    field: /^tags: has more than 2000 members/,
  },
  'a body nested too deep': {
    call: (call) =>
      call('POST', '/browsers', `{"tags":${'['.repeat(1000)}${']'.repeat(1000)}}`, {
        'content-type': 'application/json',
      }),
    status: 400,
    code: 'bad_request',
    field: /^body: is nested/,
  },
  'a mouse position outside the screen': {
    call: (call, id) => call('POST', `/browsers/${id}/computer/move_mouse`, { x: -1, y: 0 }),
    status: 400,
    code: 'bad_request',
    field: /^x: /,
  },
  'a profile that does not exist': {
    call: (call) => call('POST', '/browsers', { profile: { name: 'nobody' } }),
    status: 400,
    code: 'bad_request',
    field: /^profile: .*nobody/,
  },
  'a profile without id and name': {
    call: (call) => call('POST', '/browsers', { profile: {} }),
    status: 400,
    code: 'bad_request',
    field: /^profile: /,
  },
  'a profile by id and name at once': {
    call: (call) => call('POST', '/browsers', { profile: { id: 'a', name: 'b' } }),
    status: 400,
    code: 'bad_request',
    field: /^profile: .*not both/,
  },
  'the archive of a profile in an unknown format': {
    call: (call) => call('GET', '/profiles/ann/download?format=zip'),
    status: 400,
    code: 'bad_request',
    field: /^format: /,
  },
  'the archive of an unknown profile': {
    call: (call) => call('GET', '/profiles/nowhere/download'),
    status: 404,
    code: 'not_found',
  },
};

const noExtension = 'extensions: no extension has the name missing: upload it first';
mistakes['an unknown extension'] = {
  call: (call) => call('POST', '/browsers', { extensions: [{ name: 'missing' }] }),
  status: 400,
  code: 'bad_request',
  field: noExtension,
};
mistakes['a pool with an unknown extension'] = {
  call: (call) => call('POST', '/browser_pools', { size: 1, extensions: [{ name: 'missing' }] }),
  status: 400,
  code: 'bad_request',
  field: noExtension,
};

/** Features of the interface that this service lacks. It says so instead of pretending. */
const unsupported = {
  gpu: { gpu: true },
  chrome_policy: { chrome_policy: { HomepageLocation: 'https://a.example' } },
};
for (const [field, body] of Object.entries(unsupported)) {
  mistakes[`${field}, which is not supported`] = {
    call: (call) => call('POST', '/browsers', body),
    status: 501,
    code: 'not_implemented',
    field: `${field}: not supported by this service`,
  };
}

test('refuses bad input to any operation with an error that names the field, and serves the next request', async ({
  service,
}) => {
  const { call } = service;
  const { body: session } = await call('POST', '/browsers', { name: 'named' });
  for (const [mistake, { call: make, status, code, field }] of Object.entries(mistakes)) {
    await test.step(mistake, async () => {
      const answer = await make(call, session.session_id);
      expect(answer.body).toMatchObject({ code, message: expect.stringMatching(/\w/) });
      expect(answer.status).toBe(status);
      if (field) {
        const detailCode = status === 501 ? 'not_implemented' : 'invalid_input';
        const detail = typeof field === 'string' ? field : expect.stringMatching(field);
        expect(answer.body.details).toContainEqual({ code: detailCode, message: detail });
      }
      expect((await call('GET', `/browsers/${session.session_id}`)).status).toBe(200);
    });
  }
});

test("no path with dots or symbolic links leads out of a session's files", async ({ service }, testInfo) => {
  const { call } = service;
  const { body: session } = await call('POST', '/browsers', {});
  const root = join(sessionDirectory(dataDirectory(testInfo), session.session_id), 'root');
  expect(await readdir(root)).toContain('tmp');
  const outside = testInfo.outputPath('outside');
  await makeOutside(outside);
  const before = await snapshot(outside);
  await symlink(outside, join(root, 'link'));
  const fs = `/browsers/${session.session_id}/fs`;
  for (const path of [
    `/../../../../../../..${outside}/secret`,
    '/link/secret',
    `/tmp/../../../../../../../..${outside}/secret`,
  ]) {
    for (const attempt of [
      await call('GET', `${fs}/read_file?path=${encodeURIComponent(path)}`),
      await call('GET', `${fs}/file_info?path=${encodeURIComponent(path)}`),
      await call('PUT', `${fs}/write_file?path=${encodeURIComponent(`${path}.test`)}`, 'x'),
      await call('PUT', `${fs}/move`, { src_path: path, dest_path: '/stolen' }),
    ]) {
      expect(`${attempt.status} ${attempt.body.message}`, path).toMatch(/^40[34] /);
    }
  }
  expect(await snapshot(outside)).toEqual(before);
});
