import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect as connectPlainly } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { chromium, expect, test } from '@playwright/test';
import { startService } from '../../src/service/service.ts';
import { systemChromium } from '../support/chromium.ts';
import { makeAuthority, type Pair } from '../support/certificates.ts';
import { CliProcess } from '../support/service-process.ts';

const authority = makeAuthority();
const local = { addresses: ['127.0.0.1'], hosts: ['localhost'] };

/** Opens a connection that trusts the authority. */
async function open(url: string): Promise<TLSSocket> {
  const { port } = new URL(url);
  const socket = connect({ host: '127.0.0.1', port: Number(port), ca: authority.cert });
  await once(socket, 'secureConnect');
  return socket;
}

/** The serial number of the certificate that a new connection gets. */
async function serial(url: string): Promise<string> {
  const socket = await open(url);
  const { serialNumber } = socket.getPeerCertificate();
  socket.destroy();
  return serialNumber;
}

const serialOf = ({ cert }: Pair) => new X509Certificate(cert).serialNumber;

test('uses a new TLS certificate when its files change, and keeps open connections', async ({}, testInfo) => {
  const tls = { cert: testInfo.outputPath('cert.pem'), key: testInfo.outputPath('key.pem') };
  const [first, second] = [authority.issue(local), authority.issue(local)];
  await Promise.all([writeFile(tls.cert, first.cert), writeFile(tls.key, first.key)]);
  await using service = await startService({ tls });
  expect(service.url).toMatch(/^https:/);
  const kept = await open(service.url);
  expect(await serial(service.url)).toBe(serialOf(first));

  await writeFile(tls.cert, 'not a certificate');
  await writeFile(tls.key, second.key);
  expect(await serial(service.url)).toBe(serialOf(first));
  await writeFile(tls.cert, second.cert);
  await expect.poll(() => serial(service.url)).toBe(serialOf(second));
  kept.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
  expect(String((await once(kept, 'data'))[0])).toMatch(/^HTTP\/1.1 200 /);
  kept.destroy();
});

test('refuses to start with a TLS certificate and a key that do not fit, and names both files', async ({}, testInfo) => {
  const tls = { cert: testInfo.outputPath('cert.pem'), key: testInfo.outputPath('key.pem') };
  await writeFile(tls.cert, authority.issue(local).cert);
  await expect(startService({ tls })).rejects.toThrow(tls.key);
  await writeFile(tls.key, authority.issue(local).key);
  await expect(startService({ tls })).rejects.toThrow(/cert\.pem.*key\.pem.*cannot be used/);
});

test('drops a caller without TLS, and keeps serving others', async ({}, testInfo) => {
  const tls = { cert: testInfo.outputPath('cert.pem'), key: testInfo.outputPath('key.pem') };
  const pair = authority.issue(local);
  await Promise.all([writeFile(tls.cert, pair.cert), writeFile(tls.key, pair.key)]);
  await using service = await startService({ tls });
  const plain = connectPlainly(Number(new URL(service.url).port), '127.0.0.1');
  plain.on('error', () => {}).end('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(plain.resume(), 'close');
  expect(await serial(service.url)).toBe(serialOf(pair));
});

test('commands and the live view work over https with a certificate of a private authority', async ({}, testInfo) => {
  const place = (name: string) => testInfo.outputPath(name);
  const pair = authority.issue(local);
  await writeFile(place('cert.pem'), pair.cert);
  await writeFile(place('key.pem'), pair.key);
  await writeFile(place('authority.pem'), authority.cert);
  const args = ['--data-dir', place('data'), '--tls-cert', place('cert.pem'), '--tls-key', place('key.pem')];
  await using serving = new CliProcess(['serve', ...args], { env: { PLAYWRIGHT_POOL_API_KEY: 'the-key' } });
  const url = (await serving.firstLine()).replace('listening on ', '');
  const connection = { PLAYWRIGHT_POOL_BASE_URL: url, PLAYWRIGHT_POOL_API_KEY: 'the-key' };
  const trusting = { ...connection, NODE_EXTRA_CA_CERTS: place('authority.pem') };

  const created = new CliProcess(['call', 'browsers.create'], { env: trusting });
  expect((await created.exited).code, created.output).toBe(0);
  const session = JSON.parse(created.output);
  expect(session.cdp_ws_url).toContain(url.replace('https:', 'wss:'));
  // The data directory leads to the service, too.
  const env = { PLAYWRIGHT_POOL_DATA_DIR: place('data'), NODE_EXTRA_CA_CERTS: place('authority.pem') };
  const listed = new CliProcess(['sessions', 'list', '--json'], { env });
  expect((await listed.exited).code, listed.output).toBe(0);
  expect(JSON.parse(listed.output)).toHaveLength(1);

  const distrusting = new CliProcess(['sessions', 'list'], { env: { ...connection, NODE_EXTRA_CA_CERTS: '' } });
  expect((await distrusting.exited).code).not.toBe(0);
  expect(distrusting.output).toContain('NODE_EXTRA_CA_CERTS');

  const plainly = { ...trusting, PLAYWRIGHT_POOL_BASE_URL: url.replace('https:', 'http:') };
  for (const command of [['sessions', 'list'], ['top', '--once'], ['doctor']]) {
    const refused = new CliProcess(command, { env: plainly });
    expect((await refused.exited).code).not.toBe(0);
    expect(refused.output).toContain(`port ${new URL(url).port} of 127.0.0.1 speaks TLS`);
    expect(refused.output).toContain('Write "https:" instead of "http:" in the base URL');
  }

  const viewer = await chromium.launch({ executablePath: await systemChromium() });
  const view = await viewer.newPage({ ignoreHTTPSErrors: true });
  const opened = view.waitForEvent('websocket');
  await view.goto(session.browser_live_view_url);
  const socket = await opened;
  expect(socket.url()).toMatch(/^wss:/);
  await socket.waitForEvent('framereceived');
  await viewer.close();
});
