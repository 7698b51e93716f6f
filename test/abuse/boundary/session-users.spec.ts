import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { chmod, mkdir, symlink, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { chromium, expect } from '@playwright/test';
import { mayChangeUser } from '../../../src/service/process/children/system-users.ts';
import { startService } from '../../../src/service/service.ts';
import { systemChromium } from '../../support/views/chromium.ts';
import { callerOf } from '../../support/service/service.ts';
import { sessionDirectory } from '../../support/service/machines.ts';
import { sessionsDirectory } from '../../support/processes/sessions-directory.ts';
import { openDirectory } from '../../support/processes/open-directory.ts';
import { setEnvironment } from '../../support/processes/environment.ts';
import { processFile } from '../../support/processes/processes.ts';
import { claimsOf, isGivenBack } from '../../support/processes/user-claims.ts';
import { test } from '../shared-service.ts';

test.skip(!mayChangeUser, 'only root on Linux can give sessions users of their own');

test('each session runs sandboxed under its own user id', async ({ client, session }) => {
  const users = new Set<number>();
  for (const { session_id, cdp_ws_url } of [session, await client.browsers.create()]) {
    const browser = await chromium.connectOverCDP(cdp_ws_url);
    await (await browser.newPage()).goto('data:text/html,x');
    const processes = processesOf(session_id);
    const uids = new Set(processes.flatMap(({ uid }) => uid));
    expect([...uids]).toEqual([expect.any(Number)]);
    expect([...uids][0]).toBeGreaterThanOrEqual(20_000);
    users.add([...uids][0]!);
    expect(processes.filter(({ words }) => words.includes('--no-sandbox'))).toEqual([]);
    const renderers = processes.filter(({ words }) => words.includes('--type=renderer'));
    expect(renderers.length).toBeGreaterThan(0);
    for (const { seccomp, namespaces } of renderers) {
      expect(seccomp).toBe(2);
      // Ids in the namespaces of Chromium's sandbox, too.
      expect(namespaces).toBeGreaterThan(1);
    }
    await browser.close();
  }
  expect(users.size).toBe(2);
});

test("file: URLs can't read the data directory, other sessions or the service", async ({
  client,
  data,
  session: { session_id: mine, cdp_ws_url },
}) => {
  test.slow();
  const sessions = sessionsDirectory(data);
  const { session_id: other } = await client.browsers.create();
  const browser = await chromium.connectOverCDP(cdp_ws_url);
  const open = async (place: string) => {
    const page = await browser.contexts()[0]!.newPage();
    const shown = await page.goto(`file://${place}`, { waitUntil: 'commit' }).then(
      async () => {
        // Chromium 156 sometimes fires no load event for a directory that it may not read. It shows all it will show.
        await page.waitForLoadState('load', { timeout: 5000 }).catch(() => {});
        return await page.content();
      },
      ({ message }: Error) => message,
    );
    await page.close();
    return shown;
  };
  await expect(open('/etc/passwd')).resolves.toContain('root:');
  const places = [
    data,
    `${data}/api-key`,
    `${data}/service.db`,
    sessions,
    `${sessions}/${mine}`,
    `${sessions}/${other}`,
    `${sessions}/${other}/root`,
    `${sessions}/${other}/user-data/Default/Cookies`,
    `${sessions}/${mine}/user-data/../../${other}/root/home/user/Downloads`,
    `/proc/${process.pid}/environ`,
    `/proc/${processesOf(other)[0]!.pid}/environ`,
    '/root',
  ];
  // Chromium shows a directory that it may not read as an empty one.
  const refusal = /ERR_ACCESS_DENIED|ERR_FILE_NOT_FOUND|^(?!.*addRow).*onHasParentDirectory/s;
  await Promise.all(places.map(async (place) => expect.soft(await open(place), place).toMatch(refusal)));
  await expect(open(`${sessions}/${mine}/root/home/user/`)).resolves.toContain('Downloads');
  await browser.close();
});

test('all files of a session belong to its user until the session ends', async ({ client, data, service }) => {
  const { session_id: id, cdp_ws_url } = await client.browsers.create();
  const root = `${sessionDirectory(data, id)}/root`;
  const fs = `/browsers/${id}/fs`;
  const { uid } = statSync(root);
  expect(uid).toBeGreaterThanOrEqual(20_000);
  expect(claimsOf(uid)).toHaveLength(1);
  const write = (place: string, text: string) =>
    service.call('PUT', `${fs}/write_file?path=${place}&mode=4755`, text, octets);
  expect(await write('/home/user/made/below/a.html', '<title>read</title>')).toMatchObject({ status: 201 });
  await service.call('PUT', `${fs}/create_directory`, { path: '/home/user/empty' });
  for (const place of ['made', 'made/below', 'made/below/a.html', 'empty'])
    expect(statSync(path.join(root, 'home/user', place)), place).toMatchObject({ uid, gid: uid });

  const browser = await chromium.connectOverCDP(cdp_ws_url);
  const page = await browser.contexts()[0]!.newPage();
  await page.goto(`file://${root}/home/user/made/below/a.html`);
  await expect(page).toHaveTitle('read');
  const downloadPath = '/home/user/Downloads/new';
  const cdp = await browser.newBrowserCDPSession();
  await cdp.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath });
  await page.evaluate(() => {
    const link = document.createElement('a');
    link.href = 'data:application/octet-stream,downloaded';
    link.download = 'b';
    link.click();
  });
  await expect
    .poll(async () => (await service.call('GET', `${fs}/read_file?path=${downloadPath}/b`)).body)
    .toBe('downloaded');
  expect(statSync(path.join(root, downloadPath, 'b'))).toMatchObject({ uid });
  await write(`${downloadPath}/b`, 'replaced');
  const moved = { src_path: `${downloadPath}/b`, dest_path: '/home/user/c' };
  expect(await service.call('PUT', `${fs}/move`, moved)).toMatchObject({ status: 200 });
  await service.call('PUT', `${fs}/set_file_permissions`, { path: '/home/user/c', mode: '6755', owner: 'root' });
  const stats = statSync(path.join(root, 'home/user/c'));
  expect({ uid: stats.uid, mode: stats.mode & 0o7777 }).toEqual({ uid, mode: 0o755 });
  await service.call('PUT', `${fs}/delete_directory`, { path: '/home/user/Downloads' });
  expect(readdirSync(path.join(root, 'home/user')).toSorted()).toEqual(['c', 'empty', 'made']);
  await browser.close();
  await service.call('DELETE', `/browsers/${id}`);
  expect(isGivenBack(uid)).toBe(true);
});

test('file operations follow no link out of the session', async ({ data, service, session: { session_id: id } }) => {
  const root = `${sessionDirectory(data, id)}/root`;
  await symlink('/etc', path.join(root, 'etc'));
  await symlink('/etc/passwd', path.join(root, 'passwd'));
  const fs = `/browsers/${id}/fs`;
  for (const place of ['/passwd', '/etc/passwd'])
    expect(await service.call('GET', `${fs}/read_file?path=${place}`)).toMatchObject({ status: 403 });
  const mode = statSync('/etc/passwd').mode;
  const put = async (operation: string, body: object) => (await service.call('PUT', `${fs}/${operation}`, body)).status;
  for (const place of ['/passwd', '/etc/passwd', '/etc'])
    expect(await put('set_file_permissions', { path: place, mode: '777' })).toBe(403);
  expect(await put('create_directory', { path: '/etc/new/below' })).toBe(403);
  expect(statSync('/etc/passwd').mode).toBe(mode);
  for (const link of ['etc', 'passwd']) await unlink(path.join(root, link));
});

test("sessions start although only root can enter the data directory, Playwright's browser cache and TMPDIR", async ({}, testInfo) => {
  const closed = testInfo.outputPath('closed');
  const data = path.join(closed, 'data');
  const build = path.join(closed, 'browsers/chromium_headless_shell-9999');
  await mkdir(path.join(build, 'chrome-linux'), { recursive: true });
  await writeFile(path.join(build, 'INSTALLATION_COMPLETE'), '');
  const program = path.join(build, 'chrome-linux/headless_shell');
  await writeFile(program, `#!/bin/sh\nexec ${await systemChromium()} "$@"\n`, { mode: 0o700 });
  await chmod(closed, 0o700);
  for (const TMPDIR of [tmpdir(), closed]) {
    using _ = setEnvironment({ PLAYWRIGHT_BROWSERS_PATH: path.join(closed, 'browsers'), TMPDIR });
    const service = await startService({ dataDirectory: data });
    const place = readFileSync(path.join(data, 'sessions-directory'), 'utf8');
    const { status, body } = await callerOf(service)('POST', '/browsers', {});
    expect(status, JSON.stringify(body)).toBe(200);
    expect(processesOf(body.session_id).length).toBeGreaterThan(0);
    await service.close();
    expect(existsSync(place)).toBe(false);
  }
});

test("refuses a Chromium that the session's user can't execute, with advice", async ({}, testInfo) => {
  const closed = testInfo.outputPath('closed');
  await mkdir(closed, { mode: 0o700 });
  const executable = path.join(closed, 'chromium');
  await writeFile(executable, '#!/bin/sh\n', { mode: 0o755 });
  await using service = await startService({ chromium: { executable } });
  const { status, body } = await callerOf(service)('POST', '/browsers', {});
  expect({ status, message: body.message }).toEqual({ status: 503, message: expect.stringContaining('/opt') });
});

test('without a user id for each session, the service listens beyond loopback only if explicitly allowed', async () => {
  const options = { host: '0.0.0.0', sessionUids: false } as const;
  await expect(startService(options)).rejects.toThrow('--allow-shared-user');
  await using service = await startService({ ...options, allowSharedUser: true });
  expect(service.url).toContain('127.0.0.1');
});

test('runs Chromium without its sandbox if the system forbids sandboxes', async () => {
  await using directory = await openDirectory();
  const executable = path.join(directory.path, 'chromium');
  const refuse = 'case "$*" in *--no-sandbox*) ;; *) echo "No usable sandbox!" >&2; exit 1;; esac';
  await writeFile(executable, `#!/bin/sh\n${refuse}\nexec ${await systemChromium()} "$@"\n`, { mode: 0o755 });
  await using service = await startService({ chromium: { executable } });
  const call = callerOf(service);
  expect(await call('POST', '/browsers', {})).toMatchObject({ status: 200 });
  await using strict = await startService({ chromium: { executable, sandbox: true } });
  expect(await callerOf(strict)('POST', '/browsers', {})).toMatchObject({ status: 503 });
});

const octets = { 'content-type': 'application/octet-stream' };

type Process = { pid: number; words: string[]; uid: number[]; seccomp: number; namespaces: number };

/** The processes of a session, its renderers too. */
function processesOf(sessionId: string): Process[] {
  const all = readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [processOf(Number(name))] : []));
  // Root's `nsenter` waits for Chromium and has its switches, too.
  const leaders = all.filter(
    ({ uid, words }) =>
      !uid.includes(0) && words.some((word) => word.startsWith('--user-data-dir=') && word.includes(sessionId)),
  );
  const uids = new Set(leaders.flatMap(({ uid }) => uid));
  return all.filter(({ uid }) => uid.some((id) => uids.has(id)));
}

/** A process. Without words and ids if it has ended. */
function processOf(pid: number): Process {
  const status = processFile(pid, 'status');
  const field = (name: string) =>
    new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1]?.split(/\s+/).map(Number) ?? [];
  return {
    pid,
    words: processFile(pid, 'cmdline').split(/[\0 ]/),
    uid: [...new Set(field('Uid'))],
    seccomp: field('Seccomp')[0] ?? 0,
    namespaces: field('NSpid').length,
  };
}
