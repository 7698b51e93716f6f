import { createServer } from 'node:http';
import { chromium, expect } from '@playwright/test';
import { startService } from '../../../src/service/service.ts';
import { serve } from '../../support/http/serve.ts';
import { callerOf } from '../../support/service/service.ts';
import { test } from '../../support/worker.ts';

test('rules for host names lead to no program on a service machine that pages must not reach', async () => {
  const requests: string[] = [];
  await using server = await serve(
    createServer(({ url }, answer) => {
      requests.push(url ?? '');
      answer.end();
    }),
  );
  await using service = await startService({ blockLoopback: true });
  const target = `127.0.0.1:${server.port}`;
  const rules = `--host-resolver-rules=MAP 127.0.0.1 ${target},MAP * ${target}`;
  const { body } = await callerOf(service)('POST', '/browsers', { headless: true, chromium_args: [rules] });
  const browser = await chromium.connectOverCDP(body.cdp_ws_url);
  const page = await browser.contexts()[0]!.newPage();
  await page.goto('http://any.test/').catch(() => undefined);
  expect(requests).toEqual([]);
  await browser.close();
});
