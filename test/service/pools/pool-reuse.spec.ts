import { chromium, expect } from '@playwright/test';
import { createClient, type Client } from '../../../src/client/index.ts';
import { startControlPlane } from '../../support/service/machines.ts';
import { shellIn, test } from '../../support/service/session-processes.ts';

const hasOwnDirectories = process.platform === 'linux' && process.getuid?.() === 0;
/** Directories outside the root that each session has for itself. */
const ownDirectories = ['/tmp', '/var/tmp', '/dev/shm'];

test("a reused browser has no files, contexts and clipboard of its last lease, but the default context's cookies and tabs", async ({
  client,
}) => {
  await expectWipedReuse(client);
});

test('a control plane lets its machine remove the files, contexts and clipboard of the last lease @long', async () => {
  await using control = await startControlPlane(1);
  await using client = createClient({ baseURL: control.url, apiKey: control.apiKey });
  await expectWipedReuse(client);
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
