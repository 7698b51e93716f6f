import { chownSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { fromBufferPromise } from 'yauzl';
import { Ledger, makeRunDirectory, runDirectory } from '../../src/reaper/ledger.ts';
import { createClient } from '../../src/client/index.ts';
import { startService } from '../../src/service/service.ts';
import { FaultProxy } from '../support/http/fault-proxy.ts';
import { setEnvironment } from '../support/processes/environment.ts';
import { expect, test } from '../support/runs/pool-run.ts';
import { fileOf } from './suite-runs.ts';

const apiKey = 'recognisable-key-of-the-service';
const [password, totpSecret] = ['recognisable-password', 'RECOGNISABLETOTP'];

const reporters = `
  reporter: [
    ['line'], ['json'], ['playwright-pool/reporter'],
    ['html', { outputFolder: 'html', open: 'never' }], ['junit', { outputFile: 'junit.xml' }], ['blob', { outputDir: 'blob' }],
  ],`;

const config = (baseURL: string) => `${reporters}
  use: {
    pool: { name: 'ci', size: 1, service: { baseURL: '${baseURL}', apiKey: '${apiKey}' }, replayLinks: 'id' },
    trace: 'on',
    screenshot: 'on',
    poolReplay: 'on',
  },
  projects: [
    { name: 'pooled', testMatch: /secrets\\.spec/ },
    { name: 'signed in', testMatch: /login\\.spec/, use: { poolProfile: { name: 'carol', login: {
      domain: 'shop.example',
      credential: { name: 'carol', values: { username: 'carol', password: '${password}' }, totpSecret: '${totpSecret}' },
    } } } },
  ],`;

test('a run writes no API key, token, password or TOTP secret to any file or output', async ({ start }, testInfo) => {
  const data = testInfo.outputPath('service');
  await using service = await startService({ apiKey, dataDirectory: data });
  await using client = createClient({ baseURL: service.url, apiKey });
  await using proxy = await FaultProxy.start(service.url);
  // Errors of calls are reported, too.
  proxy.plan(/^POST .*\/release$/, { status: 500, retryAfter: 0 });
  const run = start({
    ...fileOf('(secrets|login)'),
    config: config(proxy.url),
    env: { DEBUG: 'pw:api', GITHUB_STEP_SUMMARY: testInfo.outputPath('summary.md') },
  });
  await expect.poll(() => run.output, { timeout: 30_000 }).toContain('in use');
  const ledger = filesIn(runDirectory(run.pid));
  const shown = [runDirectory(run.pid), ...ledger.map(({ name }) => join(runDirectory(run.pid), name))];
  expect(
    shown.filter((path) => (statSync(path).mode & 0o077) !== 0),
    'what other users can read',
  ).toEqual([]);
  expect(ledger.map(({ name }) => name)).toContain('ledger.jsonl');
  const tokens: string[] = [];
  for await (const { cdp_ws_url, browser_live_view_url = '' } of client.browsers.list()) {
    for (const url of [cdp_ws_url, browser_live_view_url]) tokens.push(new URL(url).searchParams.get('jwt')!);
  }
  expect(tokens.length).toBeGreaterThan(0);
  writeFileSync(join(run.directory, 'done'), '');
  const { output, results, stats } = await run.finished();
  expect(stats).toMatchObject({ passed: 2, failed: 1 });
  const errors = Object.values(results).flatMap(([attempt]) => attempt!.errors.map(({ message }) => message));
  for (const kind of [/toHaveText/, /nowhere/, /closed/]) expect(errors.join('\n')).toMatch(kind);

  const written = [
    { name: 'output', content: Buffer.from(output) },
    ...ledger,
    ...filesIn(run.directory).filter(({ name }) => !name.endsWith('.ts')),
    { name: 'summary.md', content: readFileSync(testInfo.outputPath('summary.md')) },
  ];
  const all = await Promise.all(written.map(unpacked)).then((lists) => lists.flat());
  const names = all.map(({ name }) => name).join('\n');
  for (const kind of [
    /ledger\.jsonl/,
    /junit\.xml/,
    /report\.json/,
    /html.index\.html > report > /,
    /trace\.zip > .*\.network/,
    /blob.*report.*\.jsonl/,
    /summary\.md/,
  ]) {
    expect(names).toMatch(kind);
  }
  expect(all.find(({ name }) => name === 'report.json')?.content.toString()).toContain('shop.example');
  const secrets = [
    password,
    totpSecret,
    apiKey,
    Buffer.from(apiKey).toString('base64').slice(0, -4),
    'jwt=',
    ...tokens,
  ];
  const leaks = all.filter(({ content }) => secrets.some((secret) => content.includes(secret))).map(({ name }) => name);
  expect(leaks).toEqual([]);
});

test('refuses a ledger directory that belongs to another user', () => {
  test.skip(process.getuid?.() !== 0, 'only the superuser can give files away');
  const directory = mkdtempSync(join(tmpdir(), 'ledgers-'));
  using _ = setEnvironment({ TMPDIR: directory });
  const place = dirname(makeRunDirectory(process.pid));
  chownSync(place, 65_534, 65_534);
  expect(() => makeRunDirectory(process.pid)).toThrow(`${place} belongs to another user`);
  rmSync(directory, { recursive: true });
});

test("reports a ledger directory that can't be written, and how to choose another one", () => {
  const place = join(tmpdir(), 'no-such-run');
  const message = new RegExp(
    `^The run's leases can't be written to ${place}: ENOENT.*, or set TMPDIR to another directory$`,
  );
  expect(() => new Ledger(place).makeUserAgent()).toThrow(message);
});

type Written = { name: string; content: Buffer };

function filesIn(directory: string): Written[] {
  const entries = readdirSync(directory, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return entries.map(({ parentPath, name }) => {
    const path = join(parentPath, name);
    return { name: relative(directory, path), content: readFileSync(path) };
  });
}

/** The file and everything packed in it, at any depth. */
async function unpacked(file: Written): Promise<Written[]> {
  const packed = /data:application\/zip;base64,([\w+/=]+)/.exec(file.content.toString('latin1'))?.[1];
  if (packed !== undefined)
    return [file, ...(await unpacked({ name: `${file.name} > report`, content: Buffer.from(packed, 'base64') }))];
  if (file.content.toString('latin1', 0, 4) !== 'PK\u0003\u0004') return [file];
  const zip = await fromBufferPromise(file.content);
  const entries: Written[] = [file];
  for await (const entry of zip.eachEntry()) {
    const content = await buffer(await zip.openReadStreamPromise(entry));
    entries.push(...(await unpacked({ name: `${file.name} > ${entry.fileName}`, content })));
  }
  return entries;
}
