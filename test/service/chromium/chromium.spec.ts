import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { chromium, expect, type TestInfo } from '@playwright/test';
import { launchChromium, type LaunchOptions, withUtf8 } from '../../../src/service/chromium/chromium.ts';
import { findChromium } from '../../../src/service/chromium/find-chromium.ts';
import { chromiumSwitches } from '../../../src/service/chromium/switches.ts';
import { expectNoProcessWith, processesWith, processFile } from '../../support/processes/processes.ts';
import { test } from '../../support/worker.ts';

const shellFile = 'chrome-headless-shell-linux64/chrome-headless-shell';
const viewport = { width: 1000, height: 500 };

/** Launches an executable with the user-data directory of a test. */
function launch(
  testInfo: TestInfo,
  options: Pick<LaunchOptions, 'executable'> & Partial<LaunchOptions>,
): ReturnType<typeof launchChromium> {
  const userDataDirectory = testInfo.outputPath('user-data');
  return launchChromium({ userDataDirectory, headless: true, viewport, environment: process.env, ...options });
}

/** The number of sockets that listen in this process. */
function serverCount(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'TCPServerWrap').length;
}

async function installedOrSkip(command: string): Promise<string> {
  const executable = await findChromium(true, command, process.env).catch(() => '');
  test.skip(executable === '', `${command} is not installed`);
  return executable;
}

async function script(file: string, text: string): Promise<string> {
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, `#!/bin/sh\n${text}\n`);
  await chmod(file, 0o755);
  return file;
}

async function installed(directory: string, build: string, file: string, complete = true): Promise<string> {
  const executable = await script(path.join(directory, build, file), 'exit');
  if (complete) await writeFile(path.join(directory, build, 'INSTALLATION_COMPLETE'), '');
  return executable;
}

/** The headless shell that the installed Playwright names. */
async function namedShell(): Promise<{ revision: number; version: string }> {
  const directory = path.resolve('node_modules/playwright-core');
  const { browsers } = JSON.parse(await readFile(path.join(directory, 'browsers.json'), 'utf8')) as {
    browsers: { name: string; revision: string }[];
  };
  const { version } = JSON.parse(await readFile(path.join(directory, 'package.json'), 'utf8')) as { version: string };
  return { revision: Number(browsers.find(({ name }) => name === 'chromium-headless-shell')!.revision), version };
}

test.describe('switches', () => {
  for (const headless of [true, false]) {
    test(`starts a ${headless ? 'headless' : 'headful'} Chromium with Playwright's own switches`, async ({}, testInfo) => {
      const output = testInfo.outputPath('switches');
      const executablePath = await script(testInfo.outputPath('chromium'), `printf '%s\\n' "$@" > '${output}'`);
      await expect(chromium.launch({ executablePath, headless })).rejects.toThrow();
      const itsOwn = (await readFile(output, 'utf8')).trim().split('\n');
      // launchChromium gives these two to every Chromium of ours, too.
      const switches = itsOwn.filter((name) => !/^--(user-data-dir=|remote-debugging-pipe$)/.test(name));
      expect(chromiumSwitches({ headless, sandbox: false }).sort()).toEqual(switches.sort());
    });
  }

  test('passes --no-sandbox only if Chromium runs without a sandbox', () => {
    expect(chromiumSwitches({ headless: true, sandbox: true })).not.toContain('--no-sandbox');
  });
});

test.describe('finding Chromium', () => {
  test('chooses the Chromium build that the installed Playwright names, and warns about another one', async ({}, testInfo) => {
    const browsers = testInfo.outputPath('browsers');
    const environment = { PLAYWRIGHT_BROWSERS_PATH: browsers, PATH: testInfo.outputPath('commands') };
    await script(testInfo.outputPath('commands/chromium-headless-shell'), 'exit');
    const { revision, version } = await namedShell();
    const found = async () => {
      const warnings: string[] = [];
      return { executable: await findChromium(true, undefined, environment, (text) => warnings.push(text)), warnings };
    };
    const warning = (used: number) => [
      `Playwright ${version} was made for build ${revision} of chromium-headless-shell, which is not installed; using build ${used}. ` +
        'Run npx playwright install chromium-headless-shell',
    ];

    const older = await installed(browsers, 'chromium_headless_shell-999', 'chrome-linux/headless_shell');
    expect(await found()).toEqual({ executable: older, warnings: warning(999) });
    const newer = await installed(browsers, `chromium_headless_shell-${revision + 1}`, shellFile);
    expect(await found()).toEqual({ executable: newer, warnings: warning(revision + 1) });
    const named = await installed(browsers, `chromium_headless_shell-${revision}`, shellFile, false);
    expect(await found()).toEqual({ executable: newer, warnings: warning(revision + 1) });
    await writeFile(path.join(browsers, `chromium_headless_shell-${revision}`, 'INSTALLATION_COMPLETE'), '');
    expect(await found()).toEqual({ executable: named, warnings: [] });
  });

  test("looks for Playwright's headless shell, then its Chromium, then browsers in PATH", async ({}, testInfo) => {
    const browsers = testInfo.outputPath('browsers');
    const commands = testInfo.outputPath('commands');
    const environment = { PLAYWRIGHT_BROWSERS_PATH: browsers, PATH: commands };
    const find = (headless: boolean) => findChromium(headless, undefined, environment);

    const inPath = await script(path.join(commands, 'chromium'), 'exit');
    expect(await find(true)).toBe(inPath);
    const shellInPath = await script(path.join(commands, 'chromium-headless-shell'), 'exit');
    expect(await find(true)).toBe(shellInPath);
    expect(await find(false)).toBe(inPath);
    const full = await installed(browsers, 'chromium-1300', 'chrome-linux64/chrome');
    expect(await find(false)).toBe(full);
    const shell = await installed(browsers, 'chromium_headless_shell-1200', shellFile);
    expect(await find(true)).toBe(shell);
  });

  test('uses a given executable, by its path or its name in PATH, and throws if it is missing', async ({}, testInfo) => {
    const executable = await script(testInfo.outputPath('my-chromium'), 'exit');
    expect(await findChromium(true, executable, {})).toBe(executable);
    expect(await findChromium(true, 'my-chromium', { PATH: testInfo.outputDir })).toBe(executable);
    const message = expect.stringContaining('/nowhere/chromium');
    await expect(findChromium(true, '/nowhere/chromium', {})).rejects.toMatchObject({ code: 'no_chromium', message });
  });

  test('says how to install Chromium if there is none', async ({}, testInfo) => {
    const environment = { PLAYWRIGHT_BROWSERS_PATH: testInfo.outputDir, PATH: testInfo.outputDir };
    const message = expect.stringContaining('npx playwright install --with-deps chromium-headless-shell');
    await expect(findChromium(true, undefined, environment)).rejects.toMatchObject({ code: 'no_chromium', message });
  });
});

test.describe('launching', () => {
  test('throws the last output and advice if Chromium ends at once', async ({}, testInfo) => {
    const words = 'chromium: error while loading shared libraries: libnss3.so: cannot open shared object file';
    const executable = await script(testInfo.outputPath('chromium'), `echo '${words}' >&2; exit 127`);
    const launched = launch(testInfo, { executable });
    await expect(launched).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining(words) });
    await expect(launched).rejects.toThrow('npx playwright install-deps chromium');
  });

  test("throws if the executable isn't a program", async ({}, testInfo) => {
    const executable = testInfo.outputPath('chromium');
    await writeFile(executable, '\0');
    const failure = { code: 'unavailable', message: expect.stringContaining(executable) };
    await expect(launch(testInfo, { executable })).rejects.toMatchObject(failure);
  });

  test("closes its local proxy if Chromium can't be launched", async ({}, testInfo) => {
    const before = serverCount();
    const launched = launch(testInfo, { executable: 'no\0program', tunnel: true });
    await expect(launched).rejects.toMatchObject({ code: 'ERR_INVALID_ARG_VALUE' });
    await expect.poll(serverCount).toBe(before);
  });

  test('starts Chromium with the given priority, and kills it if the launch is aborted meanwhile', async ({}, testInfo) => {
    const priority = testInfo.outputPath('priority');
    const sleeper = `nice > ${priority}; sh -c "sleep 1000; exit" "$@" & wait`;
    const executable = await script(testInfo.outputPath('chromium'), sleeper);
    const userDataDirectory = testInfo.outputPath('user-data');
    const caller = new AbortController();
    const launching = launch(testInfo, { executable, niceness: 7, signal: caller.signal });
    const aborted = expect(launching).rejects.toThrow('the caller has left');
    await expect.poll(() => processesWith(userDataDirectory)).toHaveLength(2);
    expect(await readFile(priority, 'utf8')).toBe('7\n');
    caller.abort(new Error('the caller has left'));
    await aborted;
    await expectNoProcessWith(userDataDirectory);
  });

  // The whole Chromium takes several times as long to start.
  for (const [command, tag] of [
    ['chromium-headless-shell', []],
    ['chromium', ['@long']],
  ] as const) {
    test(
      `${command} starts without a page, with the given window size and no secret of the service, and a kill ends it`,
      { tag: [...tag] },
      async ({}, testInfo) => {
        const executable = await installedOrSkip(command);
        const userDataDirectory = testInfo.outputPath('user-data');
        const environment = { ...process.env, PLAYWRIGHT_POOL_API_KEY: 'secret-key' };
        const launched = await launch(testInfo, { executable, environment });
        try {
          const { cdp } = launched;
          expect((await cdp.send('Target.getTargets', {})).targetInfos).toEqual([]);
          const { targetId } = await cdp.send('Target.createTarget', { url: 'about:blank' });
          const { sessionId } = await cdp.send('Target.attachToTarget', { targetId, flatten: true });
          const size = { expression: '[outerWidth, outerHeight]', returnByValue: true };
          const { result } = await cdp.send('Runtime.evaluate', size, { sessionId });
          expect(result.value).toEqual([viewport.width, viewport.height]);
          const processes = processesWith(userDataDirectory);
          expect(processes.length).toBeGreaterThan(0);
          for (const pid of processes) expect(processFile(pid, 'environ')).not.toContain('secret-key');
        } finally {
          await launched.kill();
        }
        await expectNoProcessWith(userDataDirectory);
        await launched.kill();
      },
    );

    test(`${command} ends when SIGKILL ends the process that started it`, { tag: [...tag] }, async ({}, testInfo) => {
      const executable = await installedOrSkip(command);
      const userDataDirectory = testInfo.outputPath('user-data');
      const module = pathToFileURL(path.resolve('build/src/service/chromium/chromium.js')).href;
      const options = { executable, userDataDirectory, headless: true, viewport };
      const program = `
          import { launchChromium } from ${JSON.stringify(module)};
          const { cdp } = await launchChromium({ ...${JSON.stringify(options)}, environment: process.env });
          await cdp.send('Target.createTarget', { url: 'data:text/html,<script>for (;;);</script>' });
          console.log('ready');
        `;
      const starter = spawn(process.execPath, ['--input-type=module', '--eval', program], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const exited = once(starter, 'exit');
      await once(createInterface(starter.stdout), 'line');
      // The starter's own command line names the directory too.
      expect(processesWith(userDataDirectory).length).toBeGreaterThan(1);
      starter.kill('SIGKILL');
      await exited;
      await expectNoProcessWith(userDataDirectory);
    });
  }
});

test('adds UTF-8 to a locale that lacks it, and keeps all other settings', () => {
  const inUtf8 = { PATH: '/bin', LANG: 'de_DE.UTF-8', LC_ALL: '' };
  expect(withUtf8(inUtf8)).toBe(inUtf8);
  expect(withUtf8({})).toEqual({ LC_CTYPE: 'C.UTF-8' });
  expect(withUtf8({ LANG: 'C', LC_TIME: 'de_DE' })).toEqual({ LANG: 'C', LC_TIME: 'de_DE', LC_CTYPE: 'C.UTF-8' });
  expect(withUtf8({ LANG: 'en_US.utf8', LC_ALL: 'POSIX' })).toEqual({ LANG: 'en_US.utf8', LC_ALL: 'C.UTF-8' });
});
