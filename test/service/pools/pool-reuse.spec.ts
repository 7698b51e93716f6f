import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { chromium, expect } from '@playwright/test';
import { createClient, type Client } from '../../../src/client/index.ts';
import { sessionDirectory, startControlPlane } from '../../support/service/machines.ts';
import { dataDirectory } from '../../support/service/service.ts';
import { shellIn, test } from '../../support/service/session-processes.ts';
import { onTheirWay } from '../../support/service/uploads.ts';

const hasOwnDirectories = process.platform === 'linux' && process.getuid?.() === 0;
/** Directories outside the root that each session has for itself. */
const ownDirectories = ['/tmp', '/var/tmp', '/dev/shm'];

test("a reused browser keeps the default context's cookies and tabs, but no files or clipboard", async ({ client }) => {
  await expectWipedReuse(client);
});

test('a control plane lets its machine remove the files, contexts and clipboard of the last lease @long', async () => {
  await using control = await startControlPlane(1);
  await using client = createClient({ baseURL: control.url, apiKey: control.apiKey });
  await expectWipedReuse(client);
});

test("files on their way as a lease ends are refused, and don't reach the next lease", async ({ client }, testInfo) => {
  const { id: pool } = await client.browserPools.create({ size: 1 });
  const { fs } = client.browsers;
  const { session_id: id } = (await client.browserPools.acquire(pool, { acquire_timeout_seconds: 30 }))!;
  const root = join(sessionDirectory(dataDirectory(testInfo), id), 'root');
  const [written, uploaded] = [new PassThrough(), new PassThrough()];
  const calls = Promise.allSettled([
    fs.writeFile(id, written, { path: '/late' }),
    fs.upload(id, { files: [{ dest_path: '/late', file: uploaded }] }),
  ]);
  for (const stream of [written, uploaded]) stream.write(Buffer.alloc(100_000));
  await expect.poll(() => onTheirWay(root)).toHaveLength(2);
  await client.browserPools.release(pool, { session_id: id });
  for (const stream of [written, uploaded]) stream.end('the end');
  for (const result of await calls)
    expect(String((result as PromiseRejectedResult).reason)).toContain('ended or was released during the action');
  const next = (await client.browserPools.acquire(pool, { acquire_timeout_seconds: 30 }))!;
  expect(next.session_id).toBe(id);
  expect((await fs.listFiles(id, { path: '/' })).map(({ name }) => name)).toEqual(['home', 'tmp']);
});

async function expectWipedReuse(client: Client): Promise<void> {
  const { id: pool } = await client.browserPools.create({ size: 1 });
  const acquire = async () => (await client.browserPools.acquire(pool, { acquire_timeout_seconds: 30 }))!;
  const namesIn = async (path: string) => (await client.browsers.fs.listFiles(id, { path })).map(({ name }) => name);
  const { session_id: id } = await acquire();
  const shell = shellIn(client, id);
  const isolated = hasOwnDirectories ? ownDirectories : [];
  const list = () => shell.run(['true', ...isolated.map((directory) => `ls ${directory}`)].join('; '));
  const atFirst = await list();

  await client.browsers.fs.writeFile(id, Buffer.from('a'), { path: '/home/user/Downloads/report.pdf' });
  await client.browsers.fs.writeFile(id, Buffer.from('b'), { path: '/work/deep/notes.txt' });
  await shell.run(`ln -s /etc "$PLAYWRIGHT_POOL_ROOT/home/user/link"`);
  for (const directory of isolated) await shell.run(`mkdir -p ${directory}/left/below; echo > ${directory}/left/file`);
  await client.browsers.computer.writeClipboard(id, { text: 'copied' });
  const { cdp_ws_url } = await client.browsers.handOver(id);
  // Without `wipe`, handing over removes nothing.
  expect(await namesIn('/home/user/Downloads')).toEqual(['report.pdf']);
  const first = await chromium.connectOverCDP(cdp_ws_url);
  const [context] = first.contexts();
  await context!.addCookies([{ name: 'kept', value: '1', url: 'http://127.0.0.1' }]);
  await (await context!.newPage()).goto('data:text/html,kept');
  const cdp = await first.newBrowserCDPSession();
  const { browserContextId } = await cdp.send('Target.createBrowserContext', { disposeOnDetach: false });
  await cdp.send('Target.createTarget', { browserContextId, url: 'data:text/html,left' });

  // After the connect, whose downloads need the directory.
  await shell.run(`rm -r "$TMPDIR"; ln -s /etc "$TMPDIR"`);
  await client.browserPools.release(pool, { session_id: id });
  const next = await acquire();
  expect(next.session_id).toBe(id);
  expect(await namesIn('/')).toEqual(['home', 'tmp']);
  expect(await namesIn('/home/user')).toEqual(['Downloads']);
  expect(await namesIn('/home/user/Downloads')).toEqual([]);
  expect(await list()).toBe(atFirst);
  expect(await client.browsers.computer.readClipboard(id)).toEqual({ text: '' });
  const second = await chromium.connectOverCDP(next.cdp_ws_url);
  const [kept, ...others] = second.contexts();
  expect(others).toEqual([]);
  expect((await kept!.cookies()).map(({ name }) => name)).toEqual(['kept']);
  expect(kept!.pages().map((page) => page.url())).toContain('data:text/html,kept');
  await second.close();

  // The next holder can use the new directories.
  await client.browsers.fs.writeFile(id, Buffer.from('c'), { path: '/tmp/mine' });
  expect(await shell.run('cat "$TMPDIR/mine"; touch "$HOME/Downloads/mine"')).toBe('c');
}
