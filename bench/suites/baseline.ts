import { once } from 'node:events';
import { createRequire } from 'node:module';
import { chromium, test as stock, type ConnectOverCDPTransport } from '@playwright/test';

export { expect } from '@playwright/test';

// An import would take 20 ms longer.
const { WebSocket } = createRequire(import.meta.url)('ws') as typeof import('ws');

/**
 * The best possible result: Playwright's own `test`, connected to a running Chromium through a process that copies bytes.
 * It costs neither a lease nor a launch.
 */
export const test: typeof stock = stock.extend({
  browser: [
    async ({}, use, { parallelIndex }) => {
      const browser = await chromium.connectOverCDP(
        await connect(process.env['BENCH_ENDPOINTS']!.split(' ')[parallelIndex]!),
      );
      await use(browser);
      await browser.close();
    },
    { scope: 'worker' },
  ],
});

/**
 * Connects with a WebSocket of our own: a worker then needs 4 % more processor time than over Chromium's pipe. With
 * Playwright's WebSocket it needs 50 % more.
 */
async function connect(url: string): Promise<ConnectOverCDPTransport> {
  const socket = new WebSocket(url, {
    perMessageDeflate: false,
    maxPayload: 0,
    skipUTF8Validation: true,
    allowSynchronousEvents: false,
    generateMask: (mask) => void mask.fill(0),
  });
  await once(socket, 'open');
  const transport: ConnectOverCDPTransport = {
    send: (message) => socket.send(JSON.stringify(message)),
    close: () => socket.close(),
  };
  socket.on('message', (data: Buffer) => transport.onmessage?.(JSON.parse(data.toString()) as object));
  socket.on('close', () => transport.onclose?.());
  return transport;
}
