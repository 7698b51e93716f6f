import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, type TestInfo } from '@playwright/test';
import { makeAuthority, type Authority } from '../support/http/certificates.ts';
import { FaultProxy } from '../support/http/fault-proxy.ts';
import { freePort } from '../support/http/serve.ts';
import { callerOf } from '../support/service/service.ts';
import { CliProcess } from '../support/service/service-process.ts';
import { test } from '../support/worker.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const apiKey = 'key-of-the-recipe';

/** The code block of the page with this language. */
async function recipe(language: string): Promise<string> {
  const page = await readFile(path.join(root, 'docs/server.md'), 'utf8');
  return new RegExp(`\`\`\`${language}\\n([^]*?)\`\`\``).exec(page)![1]!;
}

const isInstalled = (program: string, argument: string) => spawnSync(program, [argument]).status === 0;

/** Runs `doctor` against a service with a certificate of the authority. Returns its findings about transports. */
async function transports(url: string, authority: Authority, testInfo: TestInfo): Promise<string[]> {
  const directory = testInfo.outputPath('project');
  await mkdir(directory);
  await symlink(path.join(root, 'node_modules'), path.join(directory, 'node_modules'));
  await writeFile(path.join(directory, 'package.json'), '{ "type": "module" }');
  await writeFile(path.join(directory, 'playwright.config.ts'), 'export default {};');
  await writeFile(testInfo.outputPath('authority.pem'), authority.cert);
  const env = {
    PLAYWRIGHT_POOL_BASE_URL: url,
    PLAYWRIGHT_POOL_API_KEY: apiKey,
    NODE_EXTRA_CA_CERTS: testInfo.outputPath('authority.pem'),
  };
  const doctor = new CliProcess(['doctor'], { cwd: directory, env });
  await doctor.exited;
  return doctor.output.match(/^\w+ +(CDP|Playwright's protocol): [a-z ]+/gm) ?? [doctor.output];
}

const bothWork = ['ok      CDP: a page opens in ', "ok      Playwright's protocol: a page opens in "];

test('systemd-analyze accepts the documented systemd unit', async ({}, testInfo) => {
  test.skip(!isInstalled('systemd-analyze', '--version'), 'systemd-analyze is not installed');
  const canRun = process.getuid?.() === 0 || existsSync('/run/systemd');
  test.skip(!canRun, 'systemd-analyze makes /run/systemd, and only root can');
  const program = testInfo.outputPath('playwright-pool');
  await writeFile(program, '#!/bin/sh\n', { mode: 0o755 });
  const unit = testInfo.outputPath('playwright-pool.service');
  await writeFile(unit, (await recipe('ini')).replace(/(?<=^ExecStart=)\S+/m, program));
  const { status, stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' });
  expect(stdout + stderr).not.toContain('playwright-pool.service');
  expect(status, stderr).toBe(0);
});

test('command and variables of the systemd unit start a service that drains when it is stopped', async ({}, testInfo) => {
  const unit = await recipe('ini');
  const { PLAYWRIGHT_BROWSERS_PATH: _, ...variables } = Object.fromEntries(
    Array.from(unit.matchAll(/^Environment=(\w+)=(.*)$/gm), ([, name, value]) => [name!, value!]),
  );
  const [, args] = /^ExecStart=\S+\/playwright-pool (.*)$/m.exec(unit)!;
  const directory = testInfo.outputPath('data');
  const env = { ...variables, PLAYWRIGHT_POOL_DATA_DIR: directory, PLAYWRIGHT_POOL_API_KEY: apiKey };
  await using cli = new CliProcess([...args!.split(' '), '--port', '0'], { env });
  const url = (await cli.firstLine()).replace('listening on ', '');
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  const call = callerOf({ url, apiKey });
  const { body: session } = await call('POST', '/browsers', {});
  expect(session.cdp_ws_url).toContain('wss://pool.example/');
  cli.child.kill();
  await expect.poll(() => cli.output).toContain('"event":"service_draining"');
  const { timeout_seconds: wait } = JSON.parse(cli.output.match(/^.*service_draining.*$/m)![0]) as {
    timeout_seconds: number;
  };
  expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)![1])).toBeGreaterThan(wait);
  await call('DELETE', `/browsers/${session.session_id}`);
  expect(await cli.exited).toEqual({ code: 0, signal: null });
});

test("CDP, Playwright's protocol and the live view pass a proxy that sets the headers of the nginx recipe", async ({}, testInfo) => {
  const lines = (await recipe('nginx')).matchAll(/^ +proxy_set_header (\S+) \$(\w+);$/gm);
  const headers = Array.from(lines, ([, name, variable]) => [name!.toLowerCase(), variable!] as const);
  expect(headers.map(([name]) => name)).toEqual(expect.arrayContaining(['host', 'upgrade', 'x-forwarded-proto']));
  const authority = makeAuthority();
  const args = ['serve', '--data-dir', testInfo.outputPath('data'), '--trust-proxy', '127.0.0.1'];
  await using service = new CliProcess(args, { env: { PLAYWRIGHT_POOL_API_KEY: apiKey } });
  await using proxy = await FaultProxy.start((await service.firstLine()).replace('listening on ', ''), {
    tls: authority.issue({ addresses: ['127.0.0.1'] }),
    headersFor: (incoming) => {
      const values: Record<string, string> = {
        http_host: incoming.headers.host ?? '',
        http_upgrade: incoming.headers.upgrade ?? '',
        connection_upgrade: incoming.headers.upgrade ? 'upgrade' : 'close',
        scheme: 'https',
        proxy_add_x_forwarded_for: incoming.socket.remoteAddress ?? '',
      };
      // Like nginx, which sends no empty headers.
      return Object.fromEntries(
        headers.flatMap(([name, variable]) => (values[variable] === '' ? [] : [[name, values[variable]!]])),
      );
    },
  });
  expect(await transports(proxy.url, authority, testInfo)).toEqual(bothWork);
});

test("CDP, Playwright's protocol and the live view pass an nginx that is configured by the recipe", async ({}, testInfo) => {
  test.skip(!isInstalled('nginx', '-v'), 'nginx is not installed');
  const authority = makeAuthority();
  const { cert, key } = authority.issue({ addresses: ['127.0.0.1'] });
  const place = (name: string) => testInfo.outputPath(name);
  await Promise.all([writeFile(place('cert.pem'), cert), writeFile(place('key.pem'), key)]);
  const args = ['serve', '--data-dir', place('data'), '--trust-proxy', '127.0.0.1'];
  await using service = new CliProcess(args, { env: { PLAYWRIGHT_POOL_API_KEY: apiKey } });
  const target = (await service.firstLine()).replace('listening on ', '');
  const port = await freePort();
  const server = (await recipe('nginx'))
    .replace('listen 443 ssl', `listen 127.0.0.1:${port} ssl`)
    .replace('server_name pool.example', 'server_name 127.0.0.1')
    .replace('/etc/ssl/pool.example.pem', place('cert.pem'))
    .replace('/etc/ssl/pool.example.key', place('key.pem'))
    .replace('http://127.0.0.1:8080', target);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${place(name)};`)
    .join(' ');
  const configuration = `daemon off; pid ${place('pid')}; error_log stderr; events {} http { access_log off; ${paths}\n${server} }`;
  await writeFile(place('nginx.conf'), configuration);
  const nginx = spawn('nginx', ['-p', testInfo.outputPath(), '-c', place('nginx.conf')], { stdio: 'inherit' });
  try {
    const url = `https://127.0.0.1:${port}`;
    await expect.poll(() => isListening(port)).toBe(true);
    expect(await transports(url, authority, testInfo)).toEqual(bothWork);
  } finally {
    nginx.kill('SIGQUIT');
    await once(nginx, 'exit');
  }
});

async function isListening(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const isOpen = await Promise.race([
    once(socket, 'connect').then(() => true),
    once(socket, 'close').then(() => false),
  ]).catch(() => false);
  socket.destroy();
  return isOpen;
}
