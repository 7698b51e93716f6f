import { chromium, expect } from '@playwright/test';
import { startControlPlane } from '../support/machines.ts';
import { callerOf, test as base, type TestService } from '../support/service.ts';

const test = base.extend<{ service: TestService }>({
  service: async ({ serviceOptions }, use) => {
    await using service = await startControlPlane(2, serviceOptions);
    await use({ ...service, call: callerOf(service) });
  },
});

test('starts sessions on the machine with the most free slots', async ({ service }) => {
  const { call } = service;
  const start = async () => (await call('POST', '/browsers', {})).body.machine;
  const machines = [await start(), await start(), await start(), await start()];
  expect(new Set(machines.slice(0, 2)).size).toBe(2);
  expect(new Set(machines.slice(2)).size).toBe(2);
});

test('passes CDP, files, input and event streams on to the machine', async ({ service }) => {
  const { call } = service;
  const { body } = await call('POST', '/browsers', { start_url: 'data:text/html,<title>here</title>' });
  const path = `/browsers/${body.session_id}`;
  const browser = await chromium.connectOverCDP(body.cdp_ws_url);
  const [page] = browser.contexts()[0]!.pages();
  expect(await page!.title()).toBe('here');
  const write = await call('PUT', `${path}/fs/write_file?path=/tmp/a.txt`, new TextEncoder().encode('text'));
  expect(write.status).toBe(201);
  expect((await call('GET', `${path}/fs/read_file?path=/tmp/a.txt`)).body).toBe('text');
  expect((await call('POST', `${path}/computer/move_mouse`, { x: 10, y: 20 })).status).toBe(200);
  expect((await call('POST', `${path}/computer/get_mouse_position`)).body).toEqual({ x: 10, y: 20 });
  await browser.close();
  expect((await call('DELETE', path)).status).toBe(204);
  expect((await call('GET', `${path}/fs/read_file?path=/tmp/a.txt`)).status).toBe(404);
});
