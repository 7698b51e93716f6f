import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import type { RequestListener } from 'node:http';
import path from 'node:path';
import { expect } from '@playwright/test';
import { page, test, type RawClient } from '../../support/service/browser-sessions.ts';
import { clipboardOf } from '../../../src/service/input/clipboard.ts';

/** A page with a link to a download and a field for files. */
const links: RequestListener = (request, response) => {
  if (request.url !== '/report')
    return page('<a href="/report">report</a><input type="file" multiple>')(request, response);
  response.setHeader('content-disposition', 'attachment; filename=report.txt').end('a report');
};

async function openPage(
  client: RawClient,
  url: string,
): Promise<{ sessionId: string; evaluate: (expression: string) => Promise<unknown> }> {
  const { targetId } = await client.send('Target.createTarget', { url });
  const { sessionId } = await client.send('Target.attachToTarget', { targetId, flatten: true });
  const evaluate = async (expression: string) =>
    (await client.send('Runtime.evaluate', { expression, returnByValue: true, awaitPromise: true }, sessionId)).result
      .value;
  await expect.poll(() => evaluate('document.readyState + location.href')).toBe(`complete${url}/`);
  return { sessionId, evaluate };
}

const progress = (client: RawClient) =>
  client.received.findLast(({ method }) => method === 'Browser.downloadProgress')?.params;

test.describe("the service's own page is hidden", () => {
  test("hides the service's own page from Playwright at any time", async ({ session, connect }) => {
    await clipboardOf(session).write('before');
    const first = await connect(session);
    const second = await connect(session);
    const page = await first.newPage();
    await clipboardOf(session).read();
    await page.goto('about:blank#still-works');
    for (const browser of [first, second, await connect(session)]) {
      const pages = browser.contexts().flatMap((context) => context.pages());
      expect(pages.map((page) => page.url())).toEqual(['about:blank#still-works']);
    }
  });

  test("hides the service's own page from CDP clients that subscribe to all targets before and after the page is opened", async ({
    session,
    connectRaw,
    addressOf,
  }) => {
    // The first client makes the service open its page.
    for (const when of ['before', 'after']) {
      const client = await connectRaw(addressOf(session));
      await client.send('Target.setDiscoverTargets', { discover: true, filter: [{}] });
      const autoAttach = { autoAttach: true, waitForDebuggerOnStart: true, flatten: true };
      await client.send('Target.setAutoAttach', autoAttach);
      const nested = await client.send('Target.attachToBrowserTarget');
      // Pages are attached to by way of their tabs.
      const tabs = { ...autoAttach, filter: [{ type: 'page', exclude: true }, {}] };
      await client.send('Target.setAutoAttach', tabs, nested.sessionId);
      if (when === 'before') await clipboardOf(session).write('x');
      expect(await clipboardOf(session).read()).toBe('x');

      const exceptBrowser = { filter: [{ type: 'browser', exclude: true }, {}] };
      expect((await client.send('Target.getTargets', exceptBrowser)).targetInfos).toEqual([]);
      expect((await client.send('Target.getTargets', {}, nested.sessionId)).targetInfos).toEqual([]);
      expect(await client.send('Target.getBrowserContexts')).toMatchObject({ browserContextIds: [] });
      const { browserContextId } = await client.send('Target.createBrowserContext');
      const { targetId } = await client.send('Target.createTarget', { url: 'about:blank', browserContextId });
      const ours = expect.objectContaining({ targetId, browserContextId });
      expect((await client.send('Target.getTargets')).targetInfos).toContainEqual(ours);
      expect((await client.send('Target.getBrowserContexts')).browserContextIds).toEqual([browserContextId]);

      const told = client.received
        .filter(({ method }) => method?.startsWith('Target.'))
        .map(({ params }) => params!.targetInfo);
      const contexts = told.filter(({ type }) => type !== 'browser').map(({ browserContextId }) => browserContextId);
      expect(new Set(contexts)).toEqual(new Set([browserContextId]));
      expect(client.received.every(({ id = 1 }) => id > 0)).toBe(true);
      expect(client.received.filter(({ method }) => method === 'Target.detachedFromTarget')).toEqual([]);
      await client.send('Target.disposeBrowserContext', { browserContextId });
      client.close();
      await client.closed;
    }
  });
});

test.describe('paths', () => {
  test.use({ environment: { ...process.env, LC_ALL: 'C' } });

  test("file fields and downloads use the client's paths", async ({ session, connectRaw, addressOf, site }) => {
    await mkdir(path.join(session.root, 'home/user/a'), { recursive: true });
    await writeFile(path.join(session.root, 'home/user/a/grüße.txt'), 'hello');
    await writeFile(path.join(session.root, 'second.bin'), Buffer.alloc(3));
    const client = await connectRaw(addressOf(session));
    const { sessionId, evaluate } = await openPage(client, await site(links));
    await client.send('DOM.enable', {}, sessionId);
    const { root } = await client.send('DOM.getDocument', {}, sessionId);
    const { nodeId } = await client.send('DOM.querySelector', { nodeId: root.nodeId, selector: 'input' }, sessionId);
    const set = (files: unknown) => client.send('DOM.setFileInputFiles', { files, nodeId }, sessionId);

    await set(['/home/user/../user/a//grüße.txt', '/second.bin']);
    const files = 'Array.from(document.querySelector("input").files, ({ name, size }) => [name, size])';
    expect(await evaluate(files)).toEqual([
      ['grüße.txt', 5],
      ['second.bin', 3],
    ]);
    expect(await evaluate('document.querySelector("input").files[0].text()')).toBe('hello');
    const file = { expression: 'document.querySelector("input").files[0]' };
    const { objectId } = (await client.send('Runtime.evaluate', file, sessionId)).result;
    const info = await client.send('DOM.getFileInfo', { objectId }, sessionId);
    expect(info).toEqual({ path: '/home/user/a/grüße.txt' });

    await expect(set(['second.bin'])).rejects.toThrow('must be absolute');
    await expect(set(['/../../etc/passwd'])).rejects.toThrow("leads out of the session's directory");
    await expect(set([7])).rejects.toThrow('a path must be a string');
    await expect(set('/second.bin')).rejects.toThrow('Invalid parameters');
    await set(['/missing']);
    expect(await evaluate(files)).toEqual([['missing', 0]]);

    const choose = (downloadPath: string) =>
      client.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath, eventsEnabled: true });
    await choose('/home/user/../work/new');
    await evaluate('document.querySelector("a").click()');
    const completed = { state: 'completed', filePath: '/home/work/new/report.txt' };
    await expect.poll(() => progress(client)).toMatchObject(completed);
    expect(await readFile(path.join(session.root, 'home/work/new/report.txt'), 'utf8')).toBe('a report');
    await expect(choose('somewhere')).rejects.toThrow('must be absolute');
    await expect(choose('/..')).rejects.toThrow("leads out of the session's directory");
    await writeFile(path.join(session.root, 'file'), '');
    await expect(choose('/file/below')).rejects.toThrow('the directory /file/below for downloads cannot be created');
    await choose(String.raw`C:\Users\me\Temp`);
    expect(await readdir(path.join(session.root, 'C/Users/me'))).toEqual(['Temp']);
  });

  test('without a directory, a download goes into the home @long', async ({ session, connectRaw, addressOf, site }) => {
    const url = await site(links);
    const downloads = path.join(session.root, 'home/user/Downloads');
    for (let time = 1; time <= 2; time++) {
      const client = await connectRaw(addressOf(session));
      const { evaluate } = await openPage(client, url);
      await evaluate('document.querySelector("a").click()');
      await expect.poll(() => readdir(downloads)).toEqual(['report.txt']);
      await rm(path.join(downloads, 'report.txt'));
      await client.send('Browser.setDownloadBehavior', { behavior: 'allow', downloadPath: '/tmp/elsewhere' });
      client.close();
      await client.closed;
    }
    const client = await connectRaw(addressOf(session));
    await client.send('Browser.setDownloadBehavior', { behavior: 'default', eventsEnabled: true });
    const { evaluate } = await openPage(client, url);
    await evaluate('document.querySelector("a").click()');
    await expect.poll(() => progress(client)?.filePath).toBe('/home/user/Downloads/report.txt');
  });

  test("Playwright's downloads stay within the session's files", async ({ session, connect, site }) => {
    const ours = await (await connect(session)).newPage();
    await ours.goto(await site(links));
    const [download] = await Promise.all([ours.waitForEvent('download'), ours.getByText('report').click()]);
    expect(await download.failure()).toBeNull();
    // Playwright names a directory below its own directory for temporary files, which may be any.
    const entries = await readdir(session.root, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => path.join(parentPath, name));
    expect(await Promise.all(files.map((file) => readFile(file, 'utf8')))).toEqual(['a report']);
  });
});
