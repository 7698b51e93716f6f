import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect as connectPlainly } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { expect, type TestInfo } from '@playwright/test';
import { startService } from '../../../src/service/service.ts';
import { makeAuthority, type Authority, type Pair } from '../../support/http/certificates.ts';
import { commandRunner } from '../../support/processes/command.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { test } from '../../support/worker.ts';

// In one worker, because keys take long to make.
test.describe.configure({ mode: 'default' });

let authority: Authority;
let pair: Pair;
let other: Pair;
test.beforeAll(() => {
  authority = makeAuthority();
  const local = { addresses: ['127.0.0.1'], hosts: ['localhost'] };
  [pair, other] = [authority.issue(local), authority.issue(local)];
});

/** Writes a certificate and its key, and returns their paths. */
async function writePair(testInfo: TestInfo): Promise<Pair> {
  const tls = { cert: testInfo.outputPath('cert.pem'), key: testInfo.outputPath('key.pem') };
  await Promise.all([writeFile(tls.cert, pair.cert), writeFile(tls.key, pair.key)]);
  return tls;
}

/** Opens a connection that trusts the authority. */
async function open(url: string): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port: portOf(url), ca: authority.cert });
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

const portOf = (url: string) => Number(new URL(url).port);
const serialOf = ({ cert }: Pair) => new X509Certificate(cert).serialNumber;

test('uses a new TLS certificate when its files change, keeps open connections, and drops callers without TLS', async ({}, testInfo) => {
  const tls = await writePair(testInfo);
  await using service = await startService({ tls });
  expect(service.url).toMatch(/^https:/);
  const kept = await open(service.url);
  expect(await serial(service.url)).toBe(serialOf(pair));

  await writeFile(tls.cert, 'not a certificate');
  await writeFile(tls.key, other.key);
  expect(await serial(service.url)).toBe(serialOf(pair));
  await writeFile(tls.cert, other.cert);
  await expect.poll(() => serial(service.url)).toBe(serialOf(other));
  kept.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
  expect(String((await once(kept, 'data'))[0])).toMatch(/^HTTP\/1.1 200 /);
  kept.destroy();

  const plain = connectPlainly(portOf(service.url), '127.0.0.1').on('error', () => {});
  plain.end('GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(plain.resume(), 'close');
  expect(await serial(service.url)).toBe(serialOf(other));
});

test('refuses to start with a TLS certificate and a key that do not fit, and names both files', async ({}, testInfo) => {
  const tls = { ...(await writePair(testInfo)), key: testInfo.outputPath('other.pem') };
  await expect(startService({ tls })).rejects.toThrow(tls.key);
  await writeFile(tls.key, other.key);
  await expect(startService({ tls })).rejects.toThrow(/cert\.pem.*other\.pem.*cannot be used/);
});

test('commands and the live view work over https with a certificate of a private authority', async ({
  browser,
}, testInfo) => {
  const [data, authorityFile] = [testInfo.outputPath('data'), testInfo.outputPath('authority.pem')];
  const tls = await writePair(testInfo);
  await writeFile(authorityFile, authority.cert);
  const key = { PLAYWRIGHT_POOL_API_KEY: 'the-key' };
  const args = ['serve', '--data-dir', data, '--tls-cert', tls.cert, '--tls-key', tls.key];
  await using serving = new CliProcess(args, { env: key });
  const url = (await serving.firstLine()).replace('listening on ', '');
  const trusting = { ...key, PLAYWRIGHT_POOL_BASE_URL: url, NODE_EXTRA_CA_CERTS: authorityFile };

  const created = await run(['call', 'browsers.create'], trusting);
  expect(created.code, created.output).toBe(0);
  const session = JSON.parse(created.output);
  expect(session.cdp_ws_url).toContain(url.replace('https:', 'wss:'));

  const plainly = { ...trusting, PLAYWRIGHT_POOL_BASE_URL: url.replace('https:', 'http:') };
  // The data directory leads to the service, too.
  const byData = { PLAYWRIGHT_POOL_DATA_DIR: data, NODE_EXTRA_CA_CERTS: authorityFile };
  const listed = await run(['sessions', 'list', '--json'], byData);
  expect(listed.code, listed.output).toBe(0);
  expect(JSON.parse(listed.output)).toHaveLength(1);
  // This process doesn't trust the authority.
  const runHere = commandRunner();
  const distrusted = await runHere(['sessions', 'list'], { cwd: testInfo.outputDir, env: trusting });
  expect(distrusted.code).not.toBe(0);
  expect(distrusted.stderr).toContain('NODE_EXTRA_CA_CERTS');
  for (const command of [['sessions', 'list'], ['top', '--once'], ['doctor']]) {
    const { code, stdout, stderr } = await runHere(command, { cwd: testInfo.outputDir, env: plainly });
    expect(code).not.toBe(0);
    expect(stdout + stderr).toContain(`port ${portOf(url)} of 127.0.0.1 speaks TLS`);
    expect(stdout + stderr).toContain('Write "https:" instead of "http:" in the base URL');
  }

  const view = await browser.newPage({ ignoreHTTPSErrors: true });
  const opened = view.waitForEvent('websocket');
  // A page that stands still sends one picture, maybe before `goto` returns.
  const picture = opened.then((socket) => socket.waitForEvent('framereceived'));
  await Promise.all([picture, view.goto(session.browser_live_view_url)]);
  expect((await opened).url()).toMatch(/^wss:/);
  await view.close();
});

/** Runs a command to its end, without a suite in its directory. */
async function run(args: string[], env: Record<string, string>): Promise<{ code: number | null; output: string }> {
  const command = new CliProcess(args, { env, cwd: test.info().outputDir });
  const { code } = await command.exited;
  return { code, output: command.output };
}
