import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { ServiceUnavailableError } from '../../fixtures/errors.ts';
import { unlessOutage } from '../../fixtures/lease/service/outage.ts';
import { patiently } from '../../fixtures/lease/patience.ts';
import type { LeaseReport } from '../../fixtures/reporter.ts';
import { CallTimeoutError, ConnectionError, ServiceError } from '../../src/client/index.ts';
import { startService } from '../../src/service/service.ts';
import { makeAuthority } from '../support/http/certificates.ts';
import { freePort, serve } from '../support/http/serve.ts';
import { expect, test } from './suite-runs.ts';
import type { RunResult } from '../support/runs/playwright-run.ts';
import { openDirectory } from '../support/processes/open-directory.ts';

// A run explains an unusable service once, wastes little time on it, and distinguishes it from failing tests.

test('the first test explains that the service is unreachable, others fail at once @long', async ({ startSuite }) => {
  const url = `http://127.0.0.1:${await freePort()}`;
  const run = startSuite('outage', url);
  const result = await run.finished();
  expect(result.stats).toMatchObject({ passed: 0, failed: 5 });
  const failures = Object.entries(result.results).filter(([title]) => title !== 'needs no browser');
  const messages = failures.map(([, attempts]) => attempts[0]?.error?.message ?? '');
  expect(messages.every((message) => message.includes(`The service at ${url} can't be used: `))).toBe(true);
  expect(messages.map((message) => message.includes("onUnavailable: 'local'"))).toEqual([true, false, false, false]);
  const took = reasonsIn(result, 'took').map(Number);
  // A test that asks the service takes 5 s or more. On a slow machine, a later one may ask again, after 10 s.
  const began = failures.map(([, [attempt]]) => Date.parse(attempt!.startTime));
  const pauses = Math.floor((Math.max(...began) - Math.min(...began)) / 10_000);
  expect(took.filter((ms) => ms >= 5000).length).toBeLessThanOrEqual(1 + pauses);
  expect(reasonsIn(result, 'infrastructure')).toHaveLength(4);
  expect(result.output).toMatch(
    /infrastructure: 4 attempts had no working browser:\n {2}4 × the service at \S+ can't be used: .*ECONNREFUSED/,
  );
  const report = JSON.parse(
    readFileSync(join(run.directory, 'test-results/browser-leases.json'), 'utf8'),
  ) as LeaseReport;
  expect(report.infrastructure_failures.map(({ title_path }) => title_path.at(-1))).toEqual([
    'one',
    'two',
    'three',
    'four',
  ]);
});

test('says at once that the service speaks TLS if its URL begins with http:', async ({ runSuite }) => {
  await using serving = await serve(createServer(makeAuthority().issue({ addresses: ['127.0.0.1'] })));
  const result = await runSuite('outage', serving.url, { args: ['--grep', 'one$'] });
  const attempts = Object.values(result.results).map(([attempt]) => attempt!);
  expect(attempts[0]?.error?.message).toContain(`port ${serving.port} of 127.0.0.1 speaks TLS (`);
  expect(attempts[0]?.error?.message).toContain('. Write "https:" instead of "http:" in the base URL');
  // As it would after 2 s of an outage.
  expect(result.output).not.toContain('waiting for a browser');
});

test('reports a profile on an unreachable service as an infrastructure failure @long', async ({ runSuite }) => {
  const more = `poolProfile: { name: 'carol', login: { domain: 'shop.example' } }`;
  const result = await runSuite('outage', `http://127.0.0.1:${await freePort()}`, { more });
  expect(result.stats).toMatchObject({ passed: 0, failed: 5 });
  expect(reasonsIn(result, 'infrastructure')).toHaveLength(4);
});

test("onUnavailable: 'local' runs the tests on this machine and annotates each @long", async ({ runSuite, hosted }) => {
  const result = await runSuite('outage', hosted.url, {
    pool: `onUnavailable: 'local'`,
    env: { PLAYWRIGHT_POOL_API_KEY: 'refused-key' },
  });
  expect(result.stats).toMatchObject({ passed: 4, failed: 1 });
  const told = reasonsIn(result, 'playwright-pool');
  expect(told).toHaveLength(4);
  expect(told[0]).toMatch(/^on the embedded service: the service at \S+ can't be used: 401 unauthorized/);
  expect(
    result.output.match(/Tests run on the embedded service of this machine \(onUnavailable: 'local'\)/g),
  ).toHaveLength(1);
  expect(result.output).not.toContain('refused-key');
  expect(result.output).not.toContain('infrastructure:');
  expect(result.output).toContain('leases: 1 acquired, 1 released, 0 leaked');
});

test('reports failures with the same cause on one line, without their request ids @long', async ({ runSuite }) => {
  await using directory = await openDirectory();
  const executable = join(directory.path, 'chromium');
  writeFileSync(executable, '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  await using service = await startService({ apiKey: 'the-key', chromium: { executable } });
  const { results, output } = await runSuite('outage', service.url, { args: ['--grep', '(one|two|browser)$'] });
  const messages = ['one', 'two'].map((title) => results[title]![0]!.error!.message!);
  const ids = messages.map((message) => /, request ([\w-]+)\)/.exec(message)![1]);
  expect(new Set(ids).size, messages.join('\n')).toBe(2);
  const cause = /infrastructure: 2 attempts had no working browser:\n {2}2 × (503 unavailable: .*)\n/.exec(output);
  expect(cause?.[1], output).toContain('cannot launch browsers');
  expect(cause![1]).not.toContain(', request ');
});

test('uses a service again after an outage, and asks an unreachable one at growing intervals', async ({}, testInfo) => {
  const directory = testInfo.outputPath();
  const service = 'http://service.invalid';
  const guarded = <T>(act: () => Promise<T>) => unlessOutage(directory, service, act);
  const down = () => Promise.reject(new ConnectionError({ method: 'GET', url: service }, 'ECONNRESET', 'it hung up'));
  let calls = 0;
  const up = async () => ++calls;
  const outage = () => {
    const name = readdirSync(directory).find((name) => name.startsWith('outage-'));
    return name === undefined ? undefined : join(directory, name);
  };
  const passTime = (ms: number) => {
    const known = JSON.parse(readFileSync(outage()!, 'utf8')) as { since: number; retryAt: number };
    writeFileSync(outage()!, JSON.stringify({ ...known, since: known.since - ms, retryAt: known.retryAt - ms }));
    return known.retryAt - Date.now();
  };

  // The clock stands still, so that the times are exact.
  const { now } = Date;
  const frozen = now();
  Date.now = () => frozen;
  try {
    await expect(guarded(down)).rejects.toThrow(ServiceUnavailableError);
    await expect(guarded(up)).rejects.toThrow(/it hung up.*is asked again in 10 s at the earliest/);
    expect(calls).toBe(0);
    await expect(unlessOutage(directory, 'http://other.invalid', up)).resolves.toBe(1);

    expect(passTime(30_000)).toBe(10_000);
    await expect(guarded(down)).rejects.toThrow(ServiceUnavailableError);
    expect(passTime(60_000)).toBe(30_000);
    passTime(600_000);
    await expect(guarded(down)).rejects.toThrow(ServiceUnavailableError);
    expect(passTime(120_000)).toBe(120_000);
    // While one worker asks, the others don't.
    await guarded(async () => await expect(guarded(up)).rejects.toThrow(ServiceUnavailableError));
    expect(outage()).toBeUndefined();
    await expect(guarded(up)).resolves.toBe(2);
  } finally {
    Date.now = now;
  }
});

const call = { method: 'GET', url: 'http://service.invalid' };
const answer = (status: number, more: object = {}) => new ServiceError({ ...call, status, message: 'no', ...more });
const hungUp = new ConnectionError(call, 'ECONNRESET', 'it hung up');
const notFound = new ConnectionError(call, 'ENOTFOUND', 'there is none');

test('retries an acquire after temporary failures, and throws permanent ones at once', async () => {
  const service = { baseURL: call.url };
  const patience = (ms: number, more: object = {}) => ({
    deadline: performance.now() + ms,
    signal: new AbortController().signal,
    service: { ...service, ...more },
  });
  let failures = 0;
  const everFailing = patiently(patience(60_000), async (answered) => {
    answered();
    if (failures++ < 5) throw hungUp;
    return 'borne';
  });
  await expect(everFailing).resolves.toBe('borne');
  for (const passes of [answer(429), answer(503), answer(503, { code: 'busy', retryAfter: 10 })]) {
    await expect(patiently(patience(60_000), failingWith(passes))).resolves.toBe('borne');
  }
  const [unknown, hopeless] = [answer(500), answer(429, { shouldRetry: false })];
  for (const error of [notFound, unknown, hopeless])
    await expect(patiently(patience(60_000), failingWith(error))).rejects.toBe(error);
  // Its answer would come too late, or never.
  const late = answer(429, { retryAfter: 2000 });
  await expect(patiently(patience(1000), failingWith(late))).rejects.toBe(late);
  await expect(patiently(patience(60_000, { pid: 5_000_001 }), failingWith(hungUp))).rejects.toBe(hungUp);
});

test("counts a refused key and a gateway's error as an outage, but not a refused call", async ({}, testInfo) => {
  let services = 0;
  const fails = (cause: Error) =>
    unlessOutage(testInfo.outputPath(), `http://service-${++services}`, () => Promise.reject(cause));
  for (const error of [answer(400), answer(404), answer(503, { code: 'no_capacity' }), new Error('of its own')]) {
    await expect(fails(error)).rejects.toBe(error);
  }
  for (const error of [answer(403), answer(502), notFound, new CallTimeoutError(call, 1000, 'answer')]) {
    await expect(fails(error)).rejects.toThrow(`can't be used: ${error.message}`);
  }
});

/** An action that fails once, and succeeds when repeated. */
function failingWith(error: Error): () => Promise<string> {
  let calls = 0;
  return async () => {
    calls += 1;
    if (calls === 1) throw error;
    return 'borne';
  };
}

function reasonsIn({ results }: RunResult, type: string): (string | undefined)[] {
  const annotations = Object.values(results).flatMap((attempts) => attempts.flatMap((attempt) => attempt.annotations));
  return annotations.filter((annotation) => annotation.type === type).map(({ description }) => description);
}
