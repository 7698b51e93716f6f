import { mkdir, writeFile } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';
import { chromium } from '@playwright/test';
import { pack } from '../../../src/archive/index.ts';
import { expectNoProcessWith, processesWith } from '../../support/processes/processes.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { everywhere, keptIn, logInUnder } from '../../support/service/profiles.ts';
import { outputPath } from '../../support/runs/output-path.ts';
import { expect, expectExit, test } from '../commands.ts';

/** Opens a profile or an archive without a window, and waits for the text in the command's output. */
async function opened(args: string[], env: Record<string, string>, text: string): Promise<CliProcess> {
  const cli = new CliProcess(['profiles', 'open', ...args], { cwd: outputPath(), env });
  await expect.poll(() => cli.output, { timeout: 20_000 }).toContain(text);
  return cli;
}

test('profiles open shows a copy until Ctrl+C @long', async ({ env, service: { call }, site, temporary, cli: run }) => {
  await call('POST', '/profiles', { name: 'ann' });
  await logInUnder(call, 'ann', site, 'first');
  const { body: before } = await call('GET', '/profiles/ann');
  await using cli = await opened(['ann', '--headless', '--json'], env, '}\n');
  const session = JSON.parse(/^\{.*\n\}\n/ms.exec(cli.output)![0]);
  expect(session).toEqual({ cdp_ws_url: expect.stringMatching(/^ws:\/\/127\.0\.0\.1:/), headless: true });
  expect(await keptIn(session, site)).toEqual(everywhere('first'));
  await expectExit(cli, 'SIGINT', 0);
  await expectNoProcessWith(temporary);
  expect((await call('GET', '/profiles/ann')).body.updated_at).toBe(before.updated_at);
  expect((await run('profiles open nobody --headless')).stderr).toContain('write ./nobody');
});

test('profiles open shows an archive until its browser closes, headless without a display', async ({ env }) => {
  const directory = outputPath('ann');
  await mkdir(`${directory}/Default`, { recursive: true });
  await writeFile(`${directory}.tar.zst`, await buffer(pack(directory)));
  await using cli = await opened(['./ann.tar.zst'], { ...env, DISPLAY: '', WAYLAND_DISPLAY: '' }, 'Ctrl+C ends it');
  expect(cli.output).toContain('There is no display, so Chromium runs without a window.');
  const browser = await chromium.connectOverCDP(/ws:\/\/\S+/.exec(cli.output)![0]);
  const cdp = await browser.newBrowserCDPSession();
  await cdp.send('Browser.close').catch(() => {});
  expect(await cli.exited).toEqual({ code: 0, signal: null });
});

test('killing profiles open ends its browser @long', async ({ env, service, site }, testInfo) => {
  await service.call('POST', '/profiles', { name: 'ann' });
  await logInUnder(service.call, 'ann', site, 'first');
  const left = testInfo.outputDir;
  await using cli = await opened(['ann', '--headless'], { ...env, TMPDIR: left }, 'Ctrl+C ends it');
  expect(processesWith(`user-data-dir=${left}`)).not.toEqual([]);
  cli.child.kill('SIGKILL');
  await expect.poll(() => processesWith(`user-data-dir=${left}`)).toEqual([]);
});
