import { expect } from '@playwright/test';
import { test } from '../../support/service/shared-service.ts';
import { commandLine, processesWith } from '../../support/processes/processes.ts';
import { checkExtraSwitches } from '../../../src/service/chromium/switches.ts';

/** Refused switches by a part of the reason. */
const refusedSwitches = {
  'the service itself connects':
    'remote-debugging-port=9222 remote-debugging-pipe remote-debugging-address=0.0.0.0 remote-allow-origins=* ' +
    'Remote-Debugging-Port=9222 remote_debugging_port=9222 wait-for-debugger renderer-startup-dialog',
  'a user-data directory of its own': 'user-data-dir=/ disk-cache-dir=/ profile-directory=Default',
  'about the sandbox':
    'no-sandbox NO-SANDBOX disable-setuid-sandbox disable-seccomp-filter-sandbox no-zygote single-process ' +
    'in-process-gpu',
  proxy_id: 'proxy-server=http://127.0.0.1:1 proxy-pac-url=data:, no-proxy-server',
  'field extensions': 'load-extension=/tmp disable-extensions-except=/tmp',
  'headless and viewport': 'headless=new window-size=1,1',
  'other programs': 'renderer-cmd-prefix=sh gpu-launcher=sh browser-subprocess-path=/bin/sh',
  'write files': 'log-file=/tmp/log log-net-log=/tmp/log ssl-key-log-file=/tmp/log',
};

test('refuses Chromium switches that the service needs, or that would break its isolation', () => {
  for (const [reason, names] of Object.entries(refusedSwitches))
    for (const name of names.split(' ')) {
      const message = expect.stringMatching(`chromium_args: --.* is not allowed, because .*${reason}`);
      expect(() => checkExtraSwitches(['--lang=de', `--${name}`]), name).toThrow(
        expect.objectContaining({ code: 'bad_request', message }),
      );
    }
});

test('allows the Chromium switches that tests use', () => {
  checkExtraSwitches([
    '--site-per-process',
    '--disable-web-security',
    '--use-fake-device-for-media-stream',
    '--use-fake-ui-for-media-stream',
    '--autoplay-policy=no-user-gesture-required',
    '--force-color-profile=srgb',
    '--host-resolver-rules=MAP example.test 127.0.0.1',
    '--enable-webgl-draft-extensions',
    '--js-flags=--expose-gc',
    '--lang=de',
  ]);
});

test("a pool starts Chromium with its extra switches, keeps the service's own features and refuses forbidden switches, as single sessions do", async ({
  call,
}, testInfo) => {
  const flag = testInfo.outputDir.replaceAll(/\W/g, '');
  const chromium_args = [`--lang=${flag}`, '--enable-features=OneOfMine', '--js-flags=--expose-gc'];
  const pool = await call('POST', '/browser_pools', { name: 'ci', size: 1, headless: true, chromium_args });
  expect(pool.body.browser_pool_config.chromium_args).toEqual(chromium_args);
  const leased = await call('POST', '/browser_pools/ci/acquire', {});
  expect(Date.parse(leased.body.leased_at)).toBeGreaterThanOrEqual(Date.parse(leased.body.created_at));
  await expect.poll(() => processesWith(`--lang=${flag}`).length).toBeGreaterThan(0);
  const lines = processesWith(`--lang=${flag}`).map(commandLine);
  const browser = lines.find((line) => line.some((word) => word.startsWith('--remote-debugging-pipe')))!;
  const features = browser.filter((text) => text.startsWith('--enable-features='));
  expect(features).toEqual([expect.stringMatching(/CDPScreenshotNewSurface.*,OneOfMine$/)]);
  expect(browser).toContain('--js-flags=--expose-gc');
  await call('POST', '/browser_pools/ci/release', { session_id: leased.body.session_id, reuse: true });
  expect((await call('GET', `/browsers/${leased.body.session_id}`)).body).not.toHaveProperty('leased_at');

  for (const forbidden of [['--no-sandbox'], ['site-per-process'], ['--'], ['-no-sandbox'], ['--lang=\0'], ['']])
    for (const { status, body } of [
      await call('POST', '/browser_pools', { size: 1, chromium_args: forbidden }),
      await call('PATCH', '/browser_pools/ci', { chromium_args: forbidden }),
      await call('POST', '/browsers', { chromium_args: forbidden }),
    ]) {
      expect(status).toBe(400);
      expect(body.message).toContain('chromium_args');
    }
});
