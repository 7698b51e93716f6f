import { readdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from '@playwright/test';
import { z } from 'zod';
import { contract } from '../../../src/contract/contract.ts';
import { hasOpenBody, operationsOf } from '../../../src/contract/operation.ts';
import { parseKnown } from '../../../src/service/http/requests/request.ts';
import { sessionDirectory } from '../../support/service/machines.ts';
import { dataDirectory, test as base } from '../../support/service/service.ts';
import { makeOutside, snapshot } from '../../support/service/session-files.ts';

const test = base.extend({
  serviceOptions: async ({}, use, testInfo) => use({ dataDirectory: dataDirectory(testInfo), bodyLimit: 10_000 }),
});

/** A description, the request, the body, the detail of the answer, and headers. `{id}` is the id of a session. */
type Mistake = [string, request: string, body?: unknown, detail?: string | RegExp, headers?: Record<string, string>];

const json = { 'content-type': 'application/json' };
const fs = '/browsers/{id}/fs';
const noExtension = 'extensions: no extension has the name missing: upload it first';
const manyTags = Object.fromEntries(Array.from({ length: 51 }, (_, index) => [`t${index}`, '']));
const nested = `{"tags":${'['.repeat(1000)}${']'.repeat(1000)}}`;
const deepRegion = { region: { x: 0, y: 0, width: 1, height: 1, depth: 1 } };
const telemetryOff = { telemetry: { enabled: false, browser: { console: { enabled: true } } } };
const noWidth = { viewport: { width: 0, height: 1, depth: 1 } };
const wideTags = { tags: Array(2001).fill(0) };
const twoProfiles = { profile: { id: 'a', name: 'b' } };
const unknownPoolExtension = { size: 1, extensions: [{ name: 'missing' }] };
const policy = { chrome_policy: { HomepageLocation: 'https://a.example' } };
const computer = 'POST /browsers/{id}/computer';

/** By the code of the error. */
const mistakes: Record<string, { status: number; requests: Mistake[] }> = {
  bad_request: {
    status: 400,
    requests: [
      ['a relative path', `GET ${fs}/read_file?path=a.txt`, undefined, /^path: .*absolute/],
      ['a path with a NUL character', `GET ${fs}/read_file?path=/a%00b`, undefined, /^path: /],
      ['no path', `GET ${fs}/read_file`, undefined, /^path: /],
      ['the mode 9z9', `PUT ${fs}/write_file?path=/a&mode=9z9`, 'x', /^mode: .*octal/],
      ['a directory that is read as a file', `GET ${fs}/read_file?path=/tmp`],
      ['telemetry that is off, with categories', 'PATCH /browsers/{id}', telemetryOff, /^telemetry: .*not both/],
      ['malformed JSON', 'POST /browsers', '{"name":', undefined, json],
      ['a body that is no object', 'POST /browsers', '"x"', /^body: /, json],
      ['no body where one is needed', 'POST /browser_pools', undefined, /^body: /],
      ['an unknown field of a closed body', `${computer}/type`, { text: 'x', txt: 'x' }, 'txt: unknown field'],
      ['an unknown field inside another one', `${computer}/screenshot`, deepRegion, 'region.depth: unknown field'],
      ['a wrong value beside an unknown field', 'POST /browsers', { nme: 'x', ...noWidth }, /^viewport\.width: /],
      ['a viewport of 0', 'POST /browsers', { viewport: { width: 0, height: 0 } }, /^viewport\.width: /],
      ['a pool size of 0', 'POST /browser_pools', { size: 0 }, /^size: /],
      ['a pool size that is text', 'POST /browser_pools', { size: '2' }, /^size: /],
      ['a proxy that does not exist', 'POST /browsers', { proxy_id: 'x' }, /^proxy_id: /],
      ['an invocation that does not exist', 'POST /browsers', { invocation_id: 'x' }, /^invocation_id: /],
      ['an idle timeout below 10 s', 'POST /browsers', { timeout_seconds: 9 }, /^timeout_seconds: /],
      ['a page size of 101', 'GET /profiles?limit=101', undefined, /^limit: /],
      ['a page size of 0', 'GET /profiles?limit=0', undefined, /^limit: /],
      ['an offset that is no number', 'GET /profiles?offset=x', undefined, /^offset: /],
      ['a name with a space', 'POST /profiles', { name: 'a b' }, /^name: must be/],
      ['a tag with a forbidden character', 'POST /browsers', { tags: { a: 'ü' } }, /^tags\.a: /],
      ['too many tags', 'POST /browsers', { tags: manyTags }, /^tags: .*50/],
      ['more tags than are looked at', 'POST /browsers', wideTags, /^tags: has more than 2000 members/],
      ['a body nested too deep', 'POST /browsers', nested, /^body: is nested/, json],
      ['a mouse position outside the screen', `${computer}/move_mouse`, { x: -1, y: 0 }, /^x: /],
      ['a profile that does not exist', 'POST /browsers', { profile: { name: 'nobody' } }, /^profile: .*nobody/],
      ['a profile without id and name', 'POST /browsers', { profile: {} }, /^profile: /],
      ['a profile by id and name at once', 'POST /browsers', twoProfiles, /^profile: .*not both/],
      ['an unknown format of an archive', 'GET /profiles/ann/download?format=zip', undefined, /^format: /],
      ['an unknown extension', 'POST /browsers', { extensions: [{ name: 'missing' }] }, noExtension],
      ['a pool with an unknown extension', 'POST /browser_pools', unknownPoolExtension, noExtension],
    ],
  },
  unauthorized: {
    status: 401,
    requests: [['a wrong key', 'GET /browsers', undefined, undefined, { authorization: 'Bearer wrong' }]],
  },
  not_found: {
    status: 404,
    requests: [
      ['an unknown pool', 'POST /browser_pools/nowhere/acquire', {}],
      ['an unknown session', 'GET /browsers/nowhere'],
      ['an unknown profile', 'GET /profiles/nowhere'],
      ['a missing file', `GET ${fs}/read_file?path=/nowhere`],
      ['files by the name of a session', 'GET /browsers/named/fs/list_files?path=/'],
      ['the archive of an unknown profile', 'GET /profiles/nowhere/download'],
    ],
  },
  payload_too_large: {
    status: 413,
    requests: [
      ['a body over the limit', 'POST /browsers', { tags: { a: 'x'.repeat(11_000) } }],
      ['a file over the limit', `PUT ${fs}/write_file?path=/a`, 'x'.repeat(11_000)],
    ],
  },
  unsupported_media_type: {
    status: 415,
    requests: [['a body that is no JSON', 'POST /browsers', 'name=x', undefined, { 'content-type': 'text/plain' }]],
  },
  // Features of the interface that this service lacks. It says so instead of pretending.
  not_implemented: {
    status: 501,
    requests: [
      ['gpu', 'POST /browsers', { gpu: true }, 'gpu: not supported by this service'],
      ['chrome_policy', 'POST /browsers', policy, 'chrome_policy: not supported by this service'],
    ],
  },
};

test('refuses bad input with an error that names the field', async ({ call }, testInfo) => {
  const viewport = { width: 400, height: 300 };
  const created = await call('POST', '/browsers', {
    name: 'named',
    memory: '8g',
    viewport: { ...viewport, depth: 24 },
  });
  const pool = await call('POST', '/browser_pools', { size: 1, name: 'other', region: 'eu' });
  const { session_id: id } = created.body;

  await test.step('ignores or refuses unknown fields as the hosted service does', async () => {
    expect(created).toMatchObject({ status: 200, body: { viewport } });
    expect(created.body).not.toHaveProperty('memory');
    expect(created.body.viewport).not.toHaveProperty('depth');
    expect((await call('GET', '/browsers?state=active&tag[a]=b&limit=1')).body).toHaveLength(1);
    expect(pool.status).toBe(201);
    expect(pool.body.browser_pool_config).not.toHaveProperty('region');
    const leased = await call('POST', '/browser_pools/other/acquire', { priority: 1 });
    expect(leased.status).toBe(200);
    const release = { session_id: leased.body.session_id, reason: 'done' };
    expect((await call('POST', '/browser_pools/other/release', release)).status).toBe(204);
    const { status, body } = await call('POST', '/browsers', {
      memory: '8g',
      region: 'eu',
      viewport: { ...viewport, depth: 24 },
      profile: { name: 'ann', region: 'eu' },
      network: { private_hosts: ['10.0.0.1'] },
      telemetry: { enabled: false, export: { otlp: { endpoint: 'https://a.example' } } },
    });
    // The wrong value of a known field still counts.
    expect([status, body.message]).toEqual([400, expect.stringContaining('profile: ')]);
    // The hosted service refuses them in these bodies.
    const refused = { status: 400, body: { details: [{ code: 'invalid_input', message: 'region: unknown field' }] } };
    for (const [path, fields] of Object.entries({
      '/credentials': { name: 'a', domain: 'a.example', values: {} },
      '/org/credential_providers': { name: 'a', provider_type: 'onepassword', token: 'x' },
      '/auth/connections': { domain: 'a.example', profile_name: 'ann' },
    }))
      expect(await call('POST', path, { ...fields, region: 'eu' }), path).toMatchObject(refused);
  });

  await test.step('refuses each mistake', async () => {
    const foreign: Mistake = ['a session of no pool', 'POST /browser_pools/other/release', { session_id: id }];
    mistakes['not_found']!.requests.push(foreign);
    for (const [code, { status, requests }] of Object.entries(mistakes))
      for (const [what, request, body, detail, headers] of requests) {
        const [method, path] = request.replace('{id}', id).split(' ') as [string, string];
        const answer = await call(method, path, body, headers);
        expect(answer.body, what).toMatchObject({ code, message: expect.stringMatching(/\w/) });
        expect(answer.status, what).toBe(status);
        const message = typeof detail === 'string' ? detail : detail && expect.stringMatching(detail);
        const detailCode = status === 501 ? 'not_implemented' : 'invalid_input';
        if (message) expect(answer.body.details, what).toContainEqual({ code: detailCode, message });
        expect((await call('GET', `/browsers/${id}`)).status, what).toBe(200);
      }
  });

  await test.step("no path with dots or symbolic links leads out of a session's files", async () => {
    const root = join(sessionDirectory(dataDirectory(testInfo), id), 'root');
    expect(await readdir(root)).toContain('tmp');
    const outside = testInfo.outputPath('outside');
    await makeOutside(outside);
    const before = await snapshot(outside);
    await symlink(outside, join(root, 'link'));
    const dots = '/../../../../../../..';
    for (const path of [`${dots}${outside}/secret`, '/link/secret', `/tmp/..${dots}${outside}/secret`]) {
      const [query, other] = [path, `${path}.test`].map((at) => `path=${encodeURIComponent(at)}`);
      for (const [method, request, body] of [
        ['GET', `read_file?${query}`],
        ['GET', `file_info?${query}`],
        ['PUT', `write_file?${other}`, 'x'],
        ['PUT', 'move', { src_path: path, dest_path: '/stolen' }],
      ] as const) {
        const answer = await call(method, `/browsers/${id}/fs/${request}`, body);
        expect(`${answer.status} ${answer.body.message}`, path).toMatch(/^40[34] /);
      }
    }
    expect(await snapshot(outside)).toEqual(before);
  });
});

test('drops unknown fields of every other body, and keeps its known ones', () => {
  for (const [name, operation] of operationsOf(contract)) {
    if (!hasOpenBody(operation) || !operation.body) continue;
    const schema = 'schema' in operation.body ? operation.body.schema : operation.body;
    if (!(schema instanceof z.ZodType)) continue;
    const { error } = parseKnown(schema, { type: 'custom', no_such_field: 1 });
    expect(error?.issues.map(({ code }) => code) ?? [], name).not.toContain('unrecognized_keys');
  }
});
