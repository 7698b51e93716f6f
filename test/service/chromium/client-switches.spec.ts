import { expect } from '@playwright/test';
import { clientSwitches, windowSizeIn } from '../../../src/service/chromium/client-switches.ts';
import { checkExtraSwitches } from '../../../src/service/chromium/switches.ts';
import { test } from '../../support/worker.ts';

const allowed = `
  --lang=de --accept-lang=de,en --force-device-scale-factor=2 --window-size=1280,720 --disable-web-security
  --use-fake-ui-for-media-stream --use-fake-device-for-media-stream=fps=5 --autoplay-policy=no-user-gesture-required
  --enable-features=SharedArrayBuffer --disable-features=IsolateOrigins,site-per-process
  --disable-blink-features=AutomationControlled --js-flags=--expose-gc --font-render-hinting=none --disable-gpu
  --ignore-certificate-errors --host-resolver-rules=MAP*.test:127.0.0.1 --start-maximized --hide-scrollbars --mute-audio
  --force-color-profile=display-p3-d65 --enable-precise-memory-info`.split(/\s+/);

const ineffective = [
  '--no-sandbox',
  '--disable-extensions',
  '--disable-sync',
  '--password-store=basic',
  '--disable-setuid-sandbox',
  '--disable-dev-shm-usage',
  '--single-process',
];

const refused = `
  --remote-debugging-port=9222 --remote-debugging-pipe --remote-debugging-address=0.0.0.0 --remote-allow-origins=*
  --user-data-dir=/tmp --disk-cache-dir=/tmp --crash-dumps-dir=/tmp --profile-directory=a --load-extension=/tmp
  --disable-extensions-except=/tmp --app=https://a.test --proxy-server=a.test --proxy-bypass-list=* --host-rules=MAP*a.test
  --renderer-cmd-prefix=sh --utility-cmd-prefix=sh --gpu-launcher=sh --browser-subprocess-path=/bin/sh
  --ppapi-plugin-launcher=sh --log-file=/tmp/a --log-net-log=/tmp/a --ssl-key-log-file=/tmp/a --enable-logging --v=1
  --trace-startup-file=/tmp/a --screenshot=/tmp/a --print-to-pdf=/tmp/a --dump-dom --use-file-for-fake-video-capture=/etc/a
  --use-file-for-fake-audio-capture=/etc/a --allow-file-access-from-files --headless=new --incognito --disable-sandbox
  --enable-features=NoSandbox --disable-features=A,NetworkServiceSandbox --js-flags=--logfile=/tmp/a --js-flags=--prof
  --js-flags=--expose-gc,--perf-basic-prof --window-size=0,0 --window-size=99999,1 --Lang=de --lang_x -lang --
  https://a.test --constructor --toString=1`.split(/\s+/);

test('a client may add the switches that change pages only', () => {
  const args = allowed.filter(Boolean);
  expect(clientSwitches([...args, ...ineffective])).toEqual(args);
  // A machine checks them by the rules of pools when it starts a session.
  checkExtraSwitches(args.filter((text) => !windowSizeIn([text])));
});

for (const text of refused.filter(Boolean))
  test(`a client may not add ${text}`, () => {
    const message = expect.stringContaining(`launchOptions.args: ${JSON.stringify(text)} is not allowed, because `);
    expect(() => clientSwitches(['--mute-audio', text])).toThrow(
      expect.objectContaining({ code: 'bad_request', message }),
    );
  });
