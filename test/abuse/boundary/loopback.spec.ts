import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { chromium, expect } from '@playwright/test';
import { descendantsOf } from '../../../src/service/process/children/namespaces.ts';
import { test } from '../shared-service.ts';

test.skip(process.platform !== 'linux', 'ports are found in /proc');

test('a page and a CDP client that try every local port find no debugging port', async ({ service, session }) => {
  const { body: victim } = await service.call('POST', '/browsers', {});
  expect((await service.call('POST', `/browsers/${victim.session_id}/replays`, {})).status).toBe(201);
  const browser = await chromium.connectOverCDP(session.cdp_ws_url);
  const page = await browser.newPage();
  const ports = portsOf(process.pid);
  expect(ports).toContain(Number(new URL(service.url).port));
  for (const port of ports) {
    for (const path of ['/json/version', '/json/list', '/json']) {
      let texts: string[] = [];
      // An error page that comes late ends the script.
      await expect(async () => {
        // The CDP client navigates; then a script of the same origin may read all answers.
        await page.goto(`http://127.0.0.1:${port}${path}`).catch(() => {});
        const fetched = await page.evaluate(
          async (path) =>
            await fetch(path)
              .then(async (response) => await response.text())
              .catch(() => ''),
          path,
        );
        texts = [await page.content(), fetched];
      }).toPass();
      for (const text of texts) expect(text).not.toContain('webSocketDebuggerUrl');
    }
  }
  await browser.close();
});

/** The TCP ports on which a process and all below it listen. */
function portsOf(root: number): number[] {
  const inodes = new Set([root, ...descendantsOf(root)].flatMap(socketsOf));
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .slice(1)
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode]) => state === '0A' && inodes.has(inode ?? ''))
      .map(([, address]) => Number.parseInt(address!.split(':')[1]!, 16)),
  );
}

/** The inodes of a process's sockets. */
function socketsOf(pid: number): string[] {
  const files = ifPresent(() => readdirSync(`/proc/${pid}/fd`)) ?? [];
  const links = files.map((file) => ifPresent(() => readlinkSync(`/proc/${pid}/fd/${file}`)) ?? '');
  return links.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []);
}

/** Processes and their files may vanish meanwhile. */
function ifPresent<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
