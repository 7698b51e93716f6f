import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, expect } from '@playwright/test';
import { findChromium } from '../../../src/service/chromium/find-chromium.ts';
import { firstExecutable, inPath } from '../../../src/service/process/children/executables.ts';
import { isLong } from '../../support/processes/long-form.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { callerOf, type Call } from '../../support/service/service.ts';
import { test as base } from '../../support/worker.ts';

const apiKey = 'the-key';

const test = base.extend<{
  /** A directory with the programs of Chrome and Edge. Chromium plays their parts. Its user agent has the name of the program. */
  programs: string;
}>({
  programs: async ({}, use) => {
    // A session's user can't enter a test's own directory if that lies in the home of root.
    const directory = await mkdtemp(join(tmpdir(), 'programs-'));
    await chmod(directory, 0o755);
    const program = await findChromium(false, undefined, process.env);
    for (const name of ['google-chrome', 'microsoft-edge']) {
      await writeFile(join(directory, name), `#!/bin/sh\nexec ${program} "$@" --user-agent=${name}\n`);
      await chmod(join(directory, name), 0o755);
    }
    await use(directory);
    await rm(directory, { recursive: true });
  },
});

test('a client of /playwright or /cdp gets Chrome or Edge if the machine has it', async ({ programs }, testInfo) => {
  await using serving = serve({ PATH: `${programs}:${process.env['PATH']}` }, testInfo.outputPath('data'));
  const { connect, sessions } = await leasing(serving);
  const clients = [
    ['/playwright', 'chrome', 'google-chrome'],
    ['/cdp', 'msedge', 'microsoft-edge'],
    ['/playwright', 'msedge', 'microsoft-edge'],
    ['/cdp', 'chrome', 'google-chrome'],
  ] as const;
  for (const [path, channel, program] of isLong ? clients : clients.slice(0, 2)) {
    const browser = await connect(path, { channel, args: ['--lang=de'] });
    const page = await browser.newPage({ locale: undefined });
    expect(await page.evaluate(() => navigator.userAgent)).toBe(program);
    expect(await sessions()).toMatchObject([{ launch_options: { channel }, headless: true }]);
    await browser.close();
    await expect.poll(sessions).toEqual([]);
  }
});

test('headless: false gives a client a browser with a window if the service has a display', async ({}, testInfo) => {
  const xvfb = await firstExecutable(inPath('Xvfb', process.env));
  test.skip(xvfb === undefined, 'Xvfb is not installed');
  const server = spawn(xvfb!, ['-displayfd', '3', '-ac', '-nolisten', 'tcp'], {
    stdio: ['ignore', 'ignore', 'inherit', 'pipe'],
  });
  try {
    const [display] = (await once(server.stdio[3]!, 'data')) as [Buffer];
    const env = { DISPLAY: `:${String(display).trim()}` };
    await using serving = serve(env, testInfo.outputPath('data'));
    const { connect, sessions } = await leasing(serving);
    for (const headless of [false, true]) {
      const browser = await connect('/playwright', { headless });
      const page = await browser.newPage();
      const userAgent = await page.evaluate(() => navigator.userAgent);
      expect(userAgent.includes('Headless')).toBe(headless);
      expect(await sessions()).toMatchObject([{ headless }]);
      await browser.close();
      await expect.poll(sessions).toEqual([]);
    }
  } finally {
    server.kill();
    await once(server, 'exit');
  }
});

function serve(env: Record<string, string>, directory: string): CliProcess {
  const line = ['serve', '--port', '0', '--drain-timeout', '0', '--data-dir', directory];
  return new CliProcess(line, { env: { ...env, PLAYWRIGHT_POOL_API_KEY: apiKey } });
}

async function leasing(serving: CliProcess) {
  const url = (await serving.firstLine()).replace('listening on ', '');
  const call: Call = callerOf({ url, apiKey });
  expect((await call('POST', '/browser_pools', { name: 'ci', size: 1, headless: true })).status).toBe(201);
  return {
    connect: async (path: string, options: object) => {
      const headers = { authorization: `Bearer ${apiKey}`, 'x-playwright-launch-options': JSON.stringify(options) };
      const endpoint = `${url.replace('http', 'ws')}${path}?pool=ci&release=reuse`;
      return await (path === '/cdp'
        ? chromium.connectOverCDP(endpoint, { headers })
        : chromium.connect(endpoint, { headers }));
    },
    sessions: async () => (await call('GET', '/browsers')).body as object[],
  };
}
