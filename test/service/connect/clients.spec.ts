import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { chromium } from '@playwright/test';
import { WebSocket } from 'ws';
import { startService, type Service } from '../../../src/service/service.ts';
import { expect, test } from '../../support/runs/pool-run.ts';
import { refusalOf } from '../../support/http/refusal.ts';
import { startControlPlane } from '../../support/service/machines.ts';
import { callerOf } from '../../support/service/service.ts';
import { lastHours } from '../audit/audit-records.ts';

const apiKey = 'the-key';
const headers = { authorization: `Bearer ${apiKey}` };
const root = fileURLToPath(new URL('../../..', import.meta.url));

test('a Playwright Test suite without this package runs on a pool, and returns all leases', async ({ run }) => {
  await using service = await startService({ apiKey });
  const counts = await poolOf(service, 2);
  const { stats, output, results } = await run({
    files: {
      'playwright.config.ts': `
        import { defineConfig } from '@playwright/test';
        export default defineConfig({ outputDir: 'test-results', respectGitIgnore: false, workers: 2, fullyParallel: true, reporter: [['line'], ['json']], use: { trace: 'on' } });`,
      'shop.spec.ts': `
        import { expect, test } from '@playwright/test';
        for (const item of ['tea', 'milk', 'bread', 'salt']) {
          test(\`buys \${item}\`, async ({ page }) => {
            await page.setContent('<label>Item<input></label><button onclick="document.title = document.querySelector(\\'input\\').value">Buy</button>');
            await page.getByLabel('Item').fill(item);
            await page.getByRole('button').click();
            await expect(page).toHaveTitle(item);
          });
        }`,
    },
    env: {
      PW_TEST_CONNECT_WS_ENDPOINT: `${socketUrl(service)}/playwright?pool=ci&replay=on`,
      PW_TEST_CONNECT_HEADERS: JSON.stringify(headers),
    },
  });
  expect(stats, output).toEqual({ passed: 4, failed: 0, flaky: 0, skipped: 0 });
  const attached = results['buys tea']![0]!.attachments.map(({ name }) => name);
  expect(attached.toSorted()).toEqual(['live view', 'replay', 'trace']);
  await expect.poll(counts).toEqual({ leased: 0, waiting: 0 });
});

test('killed clients leave no lease, and no place in the queue', async () => {
  await using service = await startService({ apiKey });
  const counts = await poolOf(service, 1);
  const url = `${socketUrl(service)}/cdp?pool=ci`;
  const holder = startClient(url);
  await expect.poll(counts).toEqual({ leased: 1, waiting: 0 });
  const waiting = startClient(url);
  await expect.poll(counts).toEqual({ leased: 1, waiting: 1 });
  await kill(waiting);
  await expect.poll(counts).toEqual({ leased: 1, waiting: 0 });
  await kill(holder);
  await expect.poll(counts).toEqual({ leased: 0, waiting: 0 });
});

test('50 connections, half of which are killed at any moment, leave no lease', async () => {
  await using service = await startService({ apiKey });
  const counts = await poolOf(service, 3);
  const url = `${socketUrl(service)}/cdp?pool=ci&release=reuse`;
  const connectOnce = async (index: number) => {
    const client = new WebSocket(url, { headers }).on('error', () => {});
    const ended = new Promise((resolve) => void client.once('close', resolve));
    if (index % 2 === 0) {
      setTimeout(() => client.terminate(), Math.random() * 3000);
    } else {
      await once(client, 'open');
      client.send(JSON.stringify({ id: 1, method: 'Browser.getVersion' }));
      const [answer] = (await once(client, 'message')) as [Buffer];
      expect(JSON.parse(answer.toString())).toMatchObject({ id: 1, result: { jsVersion: expect.any(String) } });
      client.close();
    }
    await ended;
  };
  await Promise.all(Array.from({ length: 50 }, (_, index) => connectOnce(index)));
  await expect.poll(counts).toEqual({ leased: 0, waiting: 0 });
});

test('clients lease browsers of machines through a control plane', async () => {
  await using service = await startControlPlane(1, { apiKey });
  const counts = await poolOf(service, 1);
  for (const connect of [
    () => chromium.connect(`${socketUrl(service)}/playwright?pool=ci`, { headers }),
    () => chromium.connectOverCDP(`${service.url}/cdp?pool=ci&token=${apiKey}`),
  ]) {
    const browser = await connect();
    const page = await browser.newPage();
    await page.setContent('<title>on a machine</title>');
    await expect(page).toHaveTitle('on a machine');
    expect(await counts()).toEqual({ leased: 1, waiting: 0 });
    await browser.close();
    await expect.poll(counts).toEqual({ leased: 0, waiting: 0 });
  }
});

test('the audit record has the status with which a machine refuses a client', async () => {
  const key = 'key-of-the-machine';
  await using machine = await startService({ apiKey: key });
  // Without a session, the control plane doesn't know the versions of its machine. It creates the pool `default`.
  await using service = await startService(
    { apiKey, machines: { from: machine.url, apiKey: key } },
    { addUser: () => true },
  );
  const refused = await refusalOf(`${socketUrl(service)}/playwright`, {
    ...headers,
    'user-agent': 'Playwright/1.2.3 (x64)',
  });
  expect(refused).toMatchObject({ status: 428, message: expect.stringContaining('the client is Playwright 1.2.3') });
  const { start, end } = lastHours();
  const list = `/audit-logs?${new URLSearchParams({ start, end })}`;
  const statuses = async () => {
    const { body } = await callerOf(service)('GET', list);
    return (body as { route: string; status: number }[])
      .filter(({ route }) => route === '/playwright')
      .map(({ status }) => status);
  };
  await expect.poll(statuses).toEqual([428]);
});

function socketUrl({ url }: Service): string {
  return url.replace('http', 'ws');
}

/** Creates the pool `ci`. The returned function counts its leases and the clients that wait. */
async function poolOf(service: Service, size: number) {
  const call = callerOf(service);
  await call('POST', '/browser_pools', { name: 'ci', size, headless: true });
  return async () => {
    const { body } = await call('GET', '/browser_pools/ci');
    return { leased: body.acquired_count as number, waiting: (body.waiting_count ?? 0) as number };
  };
}

/** A process that connects, opens a page and stays connected. */
function startClient(url: string): ChildProcess {
  const script = `
    import { chromium } from '@playwright/test';
    const browser = await chromium.connectOverCDP(${JSON.stringify(url)}, { headers: ${JSON.stringify(headers)} });
    await browser.newPage();
    setInterval(() => {}, 1000);`;
  return spawn(process.execPath, ['--input-type=module', '--eval', script], { cwd: root, stdio: 'ignore' });
}

async function kill(client: ChildProcess): Promise<void> {
  const exited = once(client, 'exit');
  client.kill('SIGKILL');
  await exited;
}
