import { chromium, expect } from '@playwright/test';
import Kernel from '@onkernel/sdk';
import { createClient } from '../../../src/client/index.ts';
import { contract } from '../../../src/contract/contract.ts';
import { operationsOf } from '../../../src/contract/operation.ts';
import { extensionZip } from '../../support/views/extensions.ts';
import { collect, test as base } from '../../support/service/organization.ts';
import type { Call } from '../../support/service/service.ts';

type Project = { id: string; call: Call };

/** Two projects, and calls in each of them. */
const test = base.extend<{ shop: Project; blog: Project; create: (name: string) => Promise<Project> }>({
  create: async ({ client, callWith, service }, use) =>
    use(async (name) => {
      const { id } = await client.projects.create({ name });
      return { id, call: callWith(service.apiKey, id) };
    }),
  shop: async ({ create }, use) => use(await create('shop')),
  blog: async ({ create }, use) => use(await create('blog')),
});

function multipart(fields: { [name: string]: string | Blob }): FormData {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  return form;
}

const blob = new Blob(['x']);

/** Valid bodies and queries of the operations that need some. */
const requests: { [operation: string]: { query?: string; body?: unknown } } = {
  'browsers.update': { body: { name: 'taken-over' } },
  'browsers.awaitClient': { body: {} },
  'browsers.fs.readFile': { query: '?path=/a' },
  'browsers.fs.writeFile': { query: '?path=/a', body: 'text' },
  'browsers.fs.listFiles': { query: '?path=/' },
  'browsers.fs.fileInfo': { query: '?path=/a' },
  'browsers.fs.downloadDirZip': { query: '?path=/' },
  'browsers.fs.createDirectory': { body: { path: '/b' } },
  'browsers.fs.deleteFile': { body: { path: '/a' } },
  'browsers.fs.deleteDirectory': { body: { path: '/a' } },
  'browsers.fs.move': { body: { src_path: '/a', dest_path: '/b' } },
  'browsers.fs.setFilePermissions': { body: { path: '/a', mode: '600' } },
  'browsers.fs.watch.start': { body: { path: '/' } },
  'browsers.fs.upload': { body: multipart({ 'files[0][dest_path]': '/c', 'files[0][file]': blob }) },
  'browsers.fs.uploadZip': { body: multipart({ zip_file: blob, dest_path: '/d' }) },
  'browsers.loadExtensions': { body: multipart({ 'extensions[0][name]': 'a', 'extensions[0][zip_file]': blob }) },
  'browsers.computer.clickMouse': { body: { x: 1, y: 1 } },
  'browsers.computer.moveMouse': { body: { x: 1, y: 1 } },
  'browsers.computer.dragMouse': { body: { path: [[1, 1], [2, 2]] } }, // prettier-ignore
  'browsers.computer.scroll': { body: { x: 1, y: 1, delta_y: 1 } },
  'browsers.computer.typeText': { body: { text: 'x' } },
  'browsers.computer.pressKey': { body: { keys: ['a'] } },
  'browsers.computer.setCursorVisibility': { body: { hidden: true } },
  'browsers.computer.writeClipboard': { body: { text: 'x' } },
  'browsers.computer.batch': { body: { actions: [{ type: 'type_text', type_text: { text: 'x' } }] } },
  'browsers.curl': { body: { url: 'http://127.0.0.1/' } },
  'browsers.logs.stream': { query: '?source=supervisor' },
  'browsers.playwright.execute': { body: { code: 'return 1' } },
  'browsers.process.exec': { body: { command: 'true' } },
  'browsers.process.spawn': { body: { command: 'true' } },
  'browsers.process.stdin': { body: { data_b64: 'eA==' } },
  'browsers.process.kill': { body: { signal: 'TERM' } },
  'browsers.process.resize': { body: { rows: 1, cols: 1 } },
  'browsers.replays.mark': { body: { title: 'x' } },
  'browsers.replays.setMarkers': { body: { markers: [] } },
  'browserPools.update': { body: { size: 2 } },
  'profiles.update': { body: { name: 'taken-over' } },
  'auth.connections.update': { body: { auto_reauth: false } },
  'auth.connections.submit': { body: { field_values: {} } },
};

test('everything in a project answers 404 in every other project', async ({ shop, blog }) => {
  const { body: profile } = await shop.call('POST', '/profiles', { name: 'ann' });
  const { body: pool } = await shop.call('POST', '/browser_pools', { name: 'ci', size: 1, headless: true });
  const { body: leased } = await shop.call('POST', '/browser_pools/ci/acquire', {});
  const { body: session } = await shop.call('POST', '/browsers', { name: 'single', headless: true });
  const { body: replay } = await shop.call('POST', `/browsers/${session.session_id}/replays`, {});
  const account = { profile_name: 'ann', domain: 'shop.example' };
  const { body: connection } = await shop.call('POST', '/auth/connections', account);
  const archive = { file: new Blob([new Uint8Array(await extensionZip('marks'))]), name: 'marks' };
  const { body: extension } = await shop.call('POST', '/extensions', multipart(archive));
  const { body: watch } = await shop.call('POST', `/browsers/${session.session_id}/fs/watch`, { path: '/' });
  await shop.call('PUT', `/browsers/${session.session_id}/fs/write_file?path=/a`, 'text');

  const ids: { [area: string]: string[] } = {
    browsers: [session.session_id, leased.session_id, 'single'],
    browserPools: [pool.id, 'ci'],
    profiles: [profile.id, 'ann'],
    auth: [connection.id],
    extensions: [extension.id, 'marks'],
  };
  const bodies: typeof requests = { ...requests, 'browserPools.release': { body: { session_id: leased.session_id } } };
  const tried: string[] = [];
  const others: unknown[] = [];
  for (const [name, { method, path, scope }] of operationsOf(contract)) {
    const area = name.split('.', 1)[0]!;
    // A code of a login says for itself which login it is for.
    if (scope === 'none' || !path.includes('{')) continue;
    const { query = '', body }: { query?: string; body?: unknown } = bodies[name] ?? {};
    for (const id of ids[area] ?? []) {
      const ofShop = path.replace(/\{id\w*\}/, id).replace('{replay_id}', replay.replay_id);
      const answer = await blog.call(method, ofShop.replace('{watch_id}', watch.watch_id) + query, body);
      tried.push(`${name} ${id}`);
      if (answer.status !== 404 || answer.body.code !== 'not_found') others.push([name, id, answer]);
    }
  }
  expect(others).toEqual([]);
  expect(tried.length).toBeGreaterThan(100);

  for (const path of ['/browsers?status=all', '/browser_pools', '/profiles', '/auth/connections']) {
    expect((await blog.call('GET', path)).body, path).toEqual([]);
  }
  expect((await shop.call('GET', '/browsers')).body).toHaveLength(2);
  const { body: files } = await shop.call('GET', `/browsers/${session.session_id}/fs/list_files?path=/`);
  expect(files).toContainEqual(expect.objectContaining({ name: 'a' }));
  const unchanged = { acquired_count: 1, browser_pool_config: { size: 1 } };
  expect((await shop.call('GET', '/browser_pools/ci')).body).toMatchObject(unchanged);
  expect((await shop.call('GET', '/profiles/ann')).status).toBe(200);

  // A name that is taken in one project is free in another.
  const named = { name: 'single', headless: true };
  const { status, body: own } = await blog.call('POST', '/browsers', named);
  expect(status).toBe(200);
  for (const { call } of [shop, blog])
    expect(await call('POST', '/browsers', named)).toMatchObject({ status: 409, body: { code: 'conflict' } });

  // Things that outlive their session keep their project.
  await shop.call('DELETE', '/browsers/single');
  const past = `/browsers/${session.session_id}?include_deleted=true`;
  for (const path of [past, `/browsers/${session.session_id}/replays`])
    expect([(await shop.call('GET', path)).status, (await blog.call('GET', path)).status]).toEqual([200, 404]);
  expect((await shop.call('GET', '/replays')).body).toHaveLength(1);
  expect((await blog.call('GET', '/replays')).body).toEqual([]);

  // A session loads profiles of its own project only.
  const wrong = { status: 400, body: { details: [{ message: expect.stringMatching(/^profile:/) }] } };
  for (const selector of [{ id: profile.id }, { name: 'ann' }])
    for (const [method, path] of [
      ['POST', '/browsers'],
      ['POST', '/browser_pools'],
      ['PATCH', `/browsers/${own.session_id}`],
    ] as const) {
      const size = path === '/browser_pools' && { size: 1 };
      const body = { ...(method === 'POST' && { headless: true }), ...size, profile: selector };
      expect(await blog.call(method, path, body), path).toMatchObject(wrong);
    }

  // Links to a session work without an API key.
  const browser = await chromium.connectOverCDP(own.cdp_ws_url);
  await browser.close();
  expect((await fetch(own.browser_live_view_url)).status).toBe(200);
});

test('a name that is taken in one project is free in another @long', async ({ shop, blog }) => {
  for (const { call } of [shop, blog]) {
    for (const [path, body] of [
      ['/profiles', { name: 'same' }],
      ['/browser_pools', { name: 'same', size: 1, headless: true }],
      ['/browsers', { name: 'same', headless: true }],
    ] as const) {
      expect((await call('POST', path, body)).status, path).toBeLessThan(300);
      expect(await call('POST', path, body), path).toMatchObject({ status: 409, body: { code: 'conflict' } });
    }
    expect(await call('POST', '/browser_pools/same/acquire', { name: 'same' })).toMatchObject({ status: 409 });
    expect(await call('POST', '/browser_pools/same/acquire', { name: 'leased' })).toMatchObject({ status: 200 });
  }
  await shop.call('DELETE', '/profiles/same');
  expect((await blog.call('GET', '/profiles/same')).status).toBe(200);
});

test("the project header and a client's option choose a project", async ({ shop, client, callWith, service }) => {
  await shop.call('POST', '/profiles', { name: 'ann' });
  const options = { baseURL: service.url, apiKey: service.apiKey };
  await using ofShop = createClient({ ...options, projectId: shop.id });
  expect(await collect(ofShop.profiles.list())).toHaveLength(1);
  expect(await collect(new Kernel({ ...options, projectID: shop.id }).profiles.list())).toHaveLength(1);
  expect(await collect(new Kernel(options).profiles.list())).toHaveLength(0);

  expect((await service.call('GET', '/profiles')).body).toEqual([]);
  const unknown = { status: 404, body: { code: 'project_not_found' } };
  for (const projectId of ['shop', 'nowhere', 'x'.repeat(1000)])
    expect(await callWith(service.apiKey, projectId)('GET', '/profiles')).toMatchObject(unknown);
  expect((await callWith(service.apiKey, ' ')('GET', '/profiles')).status).toBe(200);
  await client.projects.update(shop.id, { status: 'archived' });
  expect(await shop.call('GET', '/profiles')).toMatchObject(unknown);
  // Organization routes do not regard it, or it could not be activated again.
  expect(await shop.call('PATCH', `/org/projects/${shop.id}`, { status: 'active' })).toMatchObject({ status: 200 });
  expect((await shop.call('GET', '/profiles')).body).toHaveLength(1);
});

test("a project's API key acts in its own project only", async ({ shop, blog, client, callWith }) => {
  const { key } = await client.apiKeys.create({ name: 'robot', project_id: shop.id });
  const call = callWith(key);
  const absent = { status: 404, body: { code: 'project_not_found' } };
  const forbidden = { status: 403, body: { code: 'forbidden' } };
  const org = `/org/projects/${shop.id}`;
  for (const path of ['/org/projects/shop', org, `${org}/limits`, `/projects/${shop.id}`])
    expect((await call('GET', path)).status, path).toBe(200);
  expect((await call('GET', '/org/projects')).body).toMatchObject([{ name: 'shop' }]);
  for (const path of ['/org/projects/blog', `/org/projects/${blog.id}`, `/org/projects/${blog.id}/limits`])
    expect(await call('GET', path), path).toMatchObject(absent);
  for (const [method, path, body] of [
    ['POST', '/org/projects', { name: 'x' }],
    ['PATCH', org, { name: 'x' }],
    ['DELETE', org],
    ['PATCH', `/projects/${shop.id}`, { name: 'x' }],
    ['PATCH', `${org}/limits`, { max_pooled_sessions: 1 }],
    ['GET', '/org/limits'],
    ['PATCH', '/org/limits', {}],
  ] as const)
    expect(await call(method, path, body), `${method} ${path}`).toMatchObject(forbidden);

  expect((await call('POST', '/profiles', { name: 'ann' })).status).toBe(201);
  expect((await shop.call('GET', '/profiles')).body).toHaveLength(1);
  expect((await callWith(key, shop.id)('GET', '/profiles')).body).toHaveLength(1);
  expect(await callWith(key, blog.id)('GET', '/profiles')).toMatchObject(forbidden);
  const { body: foreign } = await blog.call('POST', '/profiles', { name: 'bob' });
  expect((await call('GET', `/profiles/${foreign.id}`)).status).toBe(404);
  await client.projects.update(shop.id, { status: 'archived' });
  expect(await call('GET', '/profiles')).toMatchObject(absent);
});

test("a project's API key manages keys of its own project only", async ({ shop, blog, client, callWith }) => {
  const robot = await client.apiKeys.create({ name: 'robot', project_id: shop.id });
  const foreign = await client.apiKeys.create({ name: 'foreign', project_id: blog.id });
  const organizational = await client.apiKeys.create({ name: 'organizational' });
  const call = callWith(robot.key);
  const created_by = { id: robot.id, name: 'robot' };
  const made = { status: 201, body: { project_id: shop.id, project_name: 'shop', created_by } };
  for (const [body, expected] of [
    [{ name: 'a' }, made],
    [{ name: 'b', project_id: shop.id }, made],
    [{ name: 'c', project_id: null }, { status: 403 }],
    [{ name: 'd', project_id: blog.id }, { status: 404 }],
  ] as const)
    expect(await call('POST', '/org/api_keys', body), body.name).toMatchObject(expected);
  const listed = (await call('GET', '/org/api_keys?status=all')).body as { name: string }[];
  expect(listed.map(({ name }) => name)).toEqual(['b', 'a', 'robot']);
  for (const { id } of [foreign, organizational])
    for (const [method, path, body] of [
      ['GET', ''],
      ['PATCH', '', { name: 'mine' }],
      ['POST', '/rotate', { expire_in_days: 0 }],
      ['DELETE', ''],
    ] as const)
      expect((await call(method, `/org/api_keys/${id}${path}`, body)).status, method).toBe(404);
  expect(await call('POST', `/org/api_keys/${robot.id}/rotate`)).toMatchObject(made);
});
