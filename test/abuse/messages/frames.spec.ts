import { once } from 'node:events';
import { chromium, expect } from '@playwright/test';
import * as fc from 'fast-check';
import { WebSocket } from 'ws';
import { damaged, hostilePath, hostileText, hostileValue, seed, words } from './hostile-values.ts';
import { isLong } from '../../support/processes/long-form.ts';
import { test } from '../shared-service.ts';

const frames = isLong ? 20_000 : 300;

const path = hostilePath('/etc');

const methods = [
  ...words('DOM.setFileInputFiles DOM.getFileInfo Input.dispatchDragEvent Page.bringToFront'),
  ...words('Browser.setDownloadBehavior Page.setDownloadBehavior Target.createTarget Target.activateTarget'),
  ...words('Target.attachToTarget Target.setDiscoverTargets Target.setAutoAttach Target.getTargets'),
  ...words('Target.getTargetInfo Target.getBrowserContexts'),
];

/** Messages that the service inspects on their way to the browser. */
const command = fc.record(
  {
    id: fc.oneof({ weight: 9, arbitrary: fc.nat() }, { weight: 1, arbitrary: hostileValue }),
    method: fc.oneof(
      {
        weight: 9,
        arbitrary: fc.constantFrom(...methods),
      },
      { weight: 1, arbitrary: hostileValue },
    ),
    params: fc.oneof(
      hostileValue,
      fc.record(
        {
          files: fc.oneof(fc.array(path, { maxLength: 3 }), hostileValue),
          downloadPath: fc.oneof(path, hostileValue),
          behavior: fc.constantFrom('allow', 'allowAndName', 'deny', 'default', 'x'),
          targetId: hostileText,
          browserContextId: hostileText,
          url: hostileText,
          eventsEnabled: fc.boolean(),
          filter: hostileValue,
        },
        { requiredKeys: [] },
      ),
    ),
    sessionId: fc.oneof(hostileText, hostileValue),
  },
  { requiredKeys: ['method'] },
);

/** Messages of a live view, and others that it never sends. */
const liveInput = fc.record(
  {
    type: fc.oneof(fc.constantFrom('mouse', 'wheel', 'key', 'text'), hostileValue),
    action: fc.constantFrom('move', 'press', 'release'),
    x: fc.double(),
    y: fc.double({ min: 0, max: 1 }),
    button: fc.constantFrom('none', 'left', 'x'),
    buttons: fc.nat(),
    key: hostileText,
    code: hostileText,
    text: hostileText,
  },
  { requiredKeys: ['type'] },
);

/** Sends frames, over a new connection if the service closes one. */
async function sendAll(address: string, messages: (string | Buffer)[]): Promise<void> {
  let socket: WebSocket | undefined;
  for (const message of messages) {
    if (socket?.readyState !== WebSocket.OPEN) {
      socket = new WebSocket(address).on('error', () => {});
      await once(socket, 'open');
    }
    socket.send(message, () => {});
    await new Promise((resolve) => setImmediate(resolve));
  }
  const pong = Promise.race([once(socket!, 'pong'), once(socket!, 'close')]);
  socket!.ping(() => {});
  await pong;
  socket!.terminate();
}

test("hostile WebSocket frames don't crash the service or disconnect other clients", async ({ service }) => {
  test.setTimeout(isLong ? 600_000 : 60_000);
  console.log(`${frames} frames with the seed ${seed}`);
  const { body: session } = await service.call('POST', '/browsers', { timeout_seconds: 3600 });
  const { host, search } = new URL(session.browser_live_view_url);
  for (const [address, shape] of [
    [session.cdp_ws_url, command],
    [`ws://${host}/browser/live/socket${search}`, liveInput],
  ] as const) {
    const texts = fc
      .oneof(fc.constant(shape), fc.constant(hostileValue))
      .chain((values: fc.Arbitrary<unknown>) => values);
    const text = texts.map((value) => JSON.stringify(value) ?? '');
    const message = fc.oneof(
      { weight: 8, arbitrary: text },
      { weight: 1, arbitrary: text.chain(damaged) },
      { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
    );
    await sendAll(address, fc.sample(message, { seed, numRuns: frames }));
    const browser = await chromium.connectOverCDP(session.cdp_ws_url);
    const page = await (await browser.newContext()).newPage();
    expect(await page.evaluate(() => 6 * 7)).toBe(42);
    await browser.close();
  }
  expect((await service.call('DELETE', `/browsers/${session.session_id}`)).status).toBe(204);
});
