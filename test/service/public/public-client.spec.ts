import { createReadStream } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { expect, chromium } from '@playwright/test';
import Kernel, { BadRequestError, ConflictError, InternalServerError, NotFoundError, toFile } from '@onkernel/sdk';
import { openPromise } from 'yauzl';
import { collect } from '../../support/service/organization.ts';
import { test as base } from '../../support/service/service.ts';
import { decoded, encoded } from '../../support/service/session-processes.ts';
import { test as uploadsTest } from '../../support/service/uploads.ts';
import { told } from '../../support/service/watches.ts';

const test = base.extend<{ kernel: Kernel }>({
  kernel: async ({ service }, use) => use(new Kernel({ baseURL: service.url, apiKey: service.apiKey })),
});

/** The tests share a session, which loses their files. */
const inSession = uploadsTest.extend<{ kernel: Kernel; id: string }>({
  kernel: async ({ service }, use) => use(new Kernel({ baseURL: service.url, apiKey: service.apiKey })),
  id: async ({ root }, use) => use(basename(dirname(root))),
});

test("the hosted service's SDK creates, changes, lists and deletes sessions @long", async ({ kernel }) => {
  const settings = { name: 'mine', headless: true, timeout_seconds: 120, tags: { team: 'a b' } };
  const created = await kernel.browsers.create(settings);
  expect(created).toMatchObject(settings);
  const browser = await chromium.connectOverCDP(created.cdp_ws_url);
  const page = await (await browser.newContext()).newPage();
  await page.setContent('<title>hello</title>');
  expect(await page.title()).toBe('hello');
  await browser.close();

  expect((await kernel.browsers.retrieve('mine')).session_id).toBe(created.session_id);
  expect(await kernel.browsers.update('mine', { name: 'yours' })).toMatchObject({ name: 'yours' });
  expect((await collect(kernel.browsers.list({ tags: { team: 'a b' } }))).map(({ name }) => name)).toEqual(['yours']);
  expect(await collect(kernel.browsers.list({ tags: { team: 'c' } }))).toEqual([]);
  await kernel.browsers.create();
  expect(await collect(kernel.browsers.list({ limit: 1 }))).toHaveLength(2);
  await expect(kernel.browsers.create({ name: 'yours' })).rejects.toThrow(ConflictError);
  await kernel.browsers.deleteByID('yours');
  await expect(kernel.browsers.retrieve('yours')).rejects.toThrow(NotFoundError);
  expect((await kernel.browsers.retrieve(created.session_id, { include_deleted: true })).deleted_at).toBeTruthy();
});

test("the hosted service's SDK moves the mouse, types and uses the clipboard @long", async ({ kernel }) => {
  const { session_id: id, cdp_ws_url } = await kernel.browsers.create({ viewport: { width: 800, height: 600 } });
  const browser = await chromium.connectOverCDP(cdp_ws_url);
  const page = await (await browser.newContext()).newPage();
  await page.setContent('<textarea autofocus></textarea>');
  await page.locator('textarea').focus();
  const { computer } = kernel.browsers;
  await computer.typeText(id, { text: 'Grüße\nyou' });
  await expect(page.locator('textarea')).toHaveValue('Grüße\nyou');
  await computer.moveMouse(id, { x: 300, y: 200, smooth: false });
  expect(await computer.getMousePosition(id)).toEqual({ x: 300, y: 200 });
  await computer.writeClipboard(id, { text: 'copied' });
  expect(await computer.readClipboard(id)).toEqual({ text: 'copied' });
  await browser.close();
});

test("the hosted service's SDK creates pools, and leases and releases browsers @long", async ({ kernel }) => {
  const { browserPools } = kernel;
  const pool = await browserPools.create({ size: 1, name: 'ci', timeout_seconds: 60 });
  expect(pool).toMatchObject({ name: 'ci', acquired_count: 0, browser_pool_config: { size: 1, timeout_seconds: 60 } });
  const leased = await browserPools.acquire('ci', { name: 'lease', tags: { run: '1' } });
  expect(leased).toMatchObject({ name: 'lease', tags: { run: '1' }, timeout_seconds: 60 });
  expect(leased.pool).toMatchObject({ id: pool.id, name: 'ci' });
  expect(await browserPools.acquire('ci', { acquire_timeout_seconds: 0 })).toBeNull();
  await expect(browserPools.delete('ci')).rejects.toThrow(ConflictError);
  await browserPools.release('ci', { session_id: leased.session_id, reuse: true });
  await browserPools.update('ci', { timeout_seconds: 70 });
  const asked = await browserPools.acquire('ci', { start_url: 'about:blank#asked' });
  expect(asked).toMatchObject({ session_id: leased.session_id, timeout_seconds: 70, start_url: 'about:blank#asked' });
  const { usage: _, ...told } = asked;
  expect(await kernel.browsers.retrieve(asked.session_id)).toMatchObject(told);
  await browserPools.release('ci', { session_id: asked.session_id, reuse: true });
  const { session_id, start_url, name } = await browserPools.acquire(pool.id, {});
  expect([session_id, start_url, name]).toEqual([leased.session_id, undefined, undefined]);
  await browserPools.release('ci', { session_id, reuse: false });
  expect((await browserPools.acquire('ci', {})).session_id).not.toBe(leased.session_id);
  await browserPools.flush('ci');
  const changes = { size: 2, timeout_seconds: 90 };
  expect(await browserPools.update('ci', changes)).toMatchObject({ browser_pool_config: changes });
  expect((await collect(browserPools.list())).map(({ name }) => name)).toEqual(['ci']);
  expect(await browserPools.retrieve('ci')).toMatchObject({ acquired_count: 1 });
  await browserPools.delete('ci', { force: true });
  await expect(browserPools.retrieve('ci')).rejects.toThrow(NotFoundError);
});

test.describe('in one browser at a time', () => {
  test.use({ serviceOptions: { maxConcurrentSessions: 1 } });

  test("the hosted service's SDK creates, saves, downloads and uses profiles", async ({ kernel }) => {
    const { profiles } = kernel;
    const ann = await profiles.create({ name: 'ann' });
    expect(await profiles.update('ann', { name: 'bob' })).toMatchObject({ id: ann.id, name: 'bob' });
    const session = await kernel.browsers.create({ profile: { name: 'bob', save_changes: true } });
    expect(session.profile).toMatchObject({ id: ann.id, name: 'bob' });
    expect((await profiles.retrieve('bob')).last_used_at).toBeTruthy();
    expect((await profiles.download('bob')).status).toBe(202);

    // The pool waits until the session ends.
    const pool = await kernel.browserPools.create({ size: 1, profile: { id: ann.id } });
    expect(pool).toMatchObject({ profile_id: ann.id, browser_pool_config: { refresh_on_profile_update: true } });
    const cleared = await kernel.browserPools.update(pool.id, { profile: { id: '' } });
    expect(cleared.profile_id).toBeUndefined();
    expect(cleared.browser_pool_config.refresh_on_profile_update).toBe(false);
    await kernel.browserPools.delete(pool.id);

    await kernel.browsers.deleteByID(session.session_id);
    for (const format of ['tar.zst', 'tar'] as const) {
      const answer = await profiles.download('bob', { format });
      expect(answer.status).toBe(200);
      const bytes = Buffer.from(await answer.arrayBuffer());
      if (format === 'tar') expect(bytes.subarray(257, 262).toString()).toBe('ustar');
      else expect(bytes.readUInt32LE()).toBe(0xfd2fb528);
    }
    for (let index = 0; index < 3; index += 1) await profiles.create({ name: `p${index}` });
    const listed = await collect(profiles.list({ limit: 2 }));
    expect(listed.map(({ name }) => String(name)).toSorted()).toEqual(['bob', 'p0', 'p1', 'p2']);
    await profiles.delete('bob');
    await expect(profiles.retrieve('bob')).rejects.toThrow(NotFoundError);
  });
});

test("the hosted service's SDK may send null as an optional body @long", async ({ kernel }) => {
  const { browsers, browserPools, apiKeys } = kernel;
  await browsers.create(null);
  const { session_id: id } = await browsers.create({ start_url: 'about:blank' });
  expect((await browsers.computer.captureScreenshot(id, null)).status).toBe(200);
  expect((await browsers.replays.start(id, null)).replay_id).toBeTruthy();
  const { id: keyId } = await apiKeys.create({ name: 'robot' });
  expect((await apiKeys.rotate(keyId, null)).name).toBe('robot');
  await browserPools.create({ size: 1, name: 'ci' });
  await browserPools.delete('ci', null);
  // @ts-expect-error where one is needed it is as good as none
  await expect(kernel.profiles.update('ann', null)).rejects.toThrow(/400 invalid request: body: /);
});

test("the hosted service's SDK doesn't retry after a conflict", async ({ service, kernel }) => {
  await kernel.profiles.create({ name: 'ann' });
  let requests = 0;
  const counting = new Kernel({
    baseURL: service.url,
    apiKey: service.apiKey,
    fetch: (...request) => {
      requests += 1;
      return fetch(...request);
    },
  });
  await expect(counting.profiles.create({ name: 'ann' })).rejects.toThrow(/409 .*ann exists already/);
  expect(requests).toBe(1);
});

inSession.describe('in one session', () => {
  inSession.describe.configure({ mode: 'default' });

  inSession("the hosted service's SDK uploads and downloads files", async ({ kernel, id }, testInfo) => {
    const { fs } = kernel.browsers;
    const source = testInfo.outputPath('source');
    await writeFile(source, Buffer.alloc(1_000_000, 'source'));
    await fs.upload(id, {
      files: [
        { dest_path: '/home/user/made/a', file: await toFile(Buffer.from('grüße'), 'any name') },
        { dest_path: '/home/user/made/b', file: createReadStream(source) },
        { dest_path: '/home/user/made/c', file: new File([], 'empty') },
      ],
    });
    const made = await fs.listFiles(id, { path: '/home/user/made' });
    expect(made.map(({ name, size_bytes }) => `${name} ${size_bytes}`)).toEqual(['a 7', 'b 1000000', 'c 0']);
    const answer = await fs.downloadDirZip(id, { path: '/home' });
    expect(answer.headers.get('content-type')).toBe('application/zip');
    const archive = testInfo.outputPath('archive.zip');
    await writeFile(archive, Buffer.from(await answer.arrayBuffer()));
    const names = [];
    for await (const { fileName } of (await openPromise(archive)).eachEntry()) names.push(fileName);
    expect(names).toEqual(['user/', 'user/Downloads/', 'user/made/', 'user/made/a', 'user/made/b', 'user/made/c']);

    await fs.uploadZip(id, { dest_path: '/copy', zip_file: createReadStream(archive) });
    expect(await (await fs.readFile(id, { path: '/copy/user/made/a' })).text()).toBe('grüße');
    expect((await fs.fileInfo(id, { path: '/copy/user/made/b' })).size_bytes).toBe(1_000_000);
    const none = await toFile(Buffer.from('none'), 'x');
    await expect(fs.uploadZip(id, { dest_path: '/copy', zip_file: none })).rejects.toThrow(/invalid zip file/);
    const relative = fs.upload(id, { files: [{ dest_path: 'relative', file: await toFile(Buffer.from('x'), 'x') }] });
    await expect(relative).rejects.toThrow(BadRequestError);
    await expect(fs.downloadDirZip(id, { path: '/nowhere' })).rejects.toThrow(NotFoundError);
  });

  inSession("the hosted service's SDK watches a directory and reads its events", async ({ kernel, id }) => {
    const { fs } = kernel.browsers;
    await fs.createDirectory(id, { path: '/home/old/inner' });
    const { watch_id } = await fs.watch.start(id, { path: '/home', recursive: true });
    const stream = await fs.watch.events(watch_id!, { id });
    await fs.writeFile(id, 'x', { path: '/home/new/a' });
    await fs.deleteDirectory(id, { path: '/home/old' });
    // One write can be two events.
    const events = new Set<string>();
    for await (const event of stream) {
      for (const line of told([event as Parameters<typeof told>[0][number]])) events.add(line);
      if (events.size === 5) break;
    }
    const created = ['CREATE /home/new/', 'CREATE /home/new/a', 'WRITE /home/new/a'];
    expect([...events].toSorted()).toEqual([...created, 'DELETE /home/old/', 'DELETE /home/old/inner/'].toSorted());
    // Leaving the loop above doesn't end the watch.
    const next = await fs.watch.events(watch_id!, { id });
    await fs.watch.stop(watch_id!, { id });
    for await (const event of next) expect(event).toBeUndefined();
    await expect(fs.watch.stop(watch_id!, { id })).rejects.toThrow(NotFoundError);
    await expect(fs.watch.start(id, { path: '/nowhere' })).rejects.toThrow(/404 path not found/);
  });

  inSession("the hosted service's SDK reads, writes and deletes files of a session", async ({ kernel, id }) => {
    const { fs } = kernel.browsers;
    const content = Buffer.from('héllo\0wörld');
    await fs.createDirectory(id, { path: '/home/user/in', mode: '700' });
    await fs.writeFile(id, content, { path: '/home/user/in/a b.txt', mode: '600' });
    const read = await fs.readFile(id, { path: '/home/user/in/a b.txt' });
    expect(Buffer.from(await read.arrayBuffer()).equals(content)).toBe(true);
    expect(await fs.fileInfo(id, { path: '/home/user/in/a b.txt' })).toMatchObject({
      name: 'a b.txt',
      size_bytes: content.length,
      mode: '-rw-------',
    });
    await fs.move(id, { src_path: '/home/user/in/a b.txt', dest_path: '/home/user/in/b.txt' });
    await fs.setFilePermissions(id, { path: '/home/user/in/b.txt', mode: '644' });
    expect(await fs.listFiles(id, { path: '/home/user/in' })).toMatchObject([
      { name: 'b.txt', path: '/home/user/in/b.txt', is_dir: false, mode: '-rw-r--r--' },
    ]);
    await fs.deleteFile(id, { path: '/home/user/in/b.txt' });
    expect(await fs.listFiles(id, { path: '/home/user/in' })).toEqual([]);
    await fs.deleteDirectory(id, { path: '/home/user/in' });
    await expect(fs.listFiles(id, { path: '/home/user/in' })).rejects.toThrow(NotFoundError);
  });

  inSession("the hosted service's SDK runs programs in a session", async ({ kernel, id }) => {
    const programs = kernel.browsers.process;
    const args = ['-c', 'echo out; echo err >&2; exit 2'];
    const done = await programs.exec(id, { command: 'sh', args, timeout_sec: 30 });
    expect(done).toMatchObject({ exit_code: 2, stdout_b64: encoded('out\n'), stderr_b64: encoded('err\n') });

    const cat = { command: 'cat', cwd: '/home/user', env: { A: 'b' } };
    const { process_id, pid, started_at } = await programs.spawn(id, cat);
    expect(process_id).toMatch(/^[\da-f]{8}-/);
    expect([typeof pid, Number.isNaN(Date.parse(started_at!))]).toEqual(['number', false]);
    expect(await programs.status(process_id!, { id })).toMatchObject({ state: 'running', exit_code: null });
    const stream = await programs.stdoutStream(process_id!, { id });
    expect(await programs.stdin(process_id!, { id, data_b64: encoded('line\n') })).toEqual({ written_bytes: 5 });
    const events = [];
    for await (const event of stream) {
      events.push(event);
      if (event.stream) expect(await programs.kill(process_id!, { id, signal: 'TERM' })).toEqual({ ok: true });
    }
    expect(events).toEqual([
      { stream: 'stdout', data_b64: encoded('line\n') },
      { event: 'exit', exit_code: -1 },
    ]);
    const resized = programs.resize(process_id!, { id, rows: 10, cols: 20 });
    await expect(resized).rejects.toThrow(BadRequestError);
  });

  inSession("the hosted service's SDK opens terminals, and retries no error @long", async ({ kernel, id }) => {
    inSession.skip(process.platform === 'win32', 'Windows has no sh');
    const programs = kernel.browsers.process;
    const terminal = { allocate_tty: true, rows: 10, cols: 20 };
    const { process_id } = await programs.spawn(id, {
      command: 'sh',
      args: ['-c', 'read line; stty size'],
      ...terminal,
    });
    await programs.resize(process_id!, { id, rows: 11, cols: 22 });
    await programs.stdin(process_id!, { id, data_b64: encoded('\n') });
    let output = '';
    for await (const event of await programs.stdoutStream(process_id!, { id })) output += decoded(event.data_b64 ?? '');
    expect(output).toContain('11 22');
    const count = 'echo >> runs.txt; sleep 60';
    const late = programs.exec(id, { command: 'sh', args: ['-c', count], timeout_sec: 1 });
    await expect(late).rejects.toThrow(InternalServerError);
    const runs = await programs.exec(id, { command: 'cat', args: ['runs.txt'] });
    expect(decoded(runs.stdout_b64!)).toBe('\n');
    await expect(programs.exec('nowhere', { command: 'true' })).rejects.toThrow(NotFoundError);
  });
});
