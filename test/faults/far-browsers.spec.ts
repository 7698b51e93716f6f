import { readlinkSync } from 'node:fs';
import { descendantsOf } from '../../src/service/process/children/namespaces.ts';
import { expect, leasingFrom, pidIn, test } from '../support/runs/fault-runs.ts';
import { commandLine, expectNoProcessWith, processesWith } from '../support/processes/processes.ts';
import { CliProcess } from '../support/service/service-process.ts';

// Parts of a run end in the middle of an action over Playwright's own protocol, or their connection goes silent.

const overPlaywright = `transport: 'playwright'`;

/** A test that waits for an element that doesn't come. */
const waitingTest = (title: string, timeout = 120_000) => `
  test('${title}', async ({ page }) => {
    test.setTimeout(${timeout});
    await page.setContent('x');
    console.log('running ${title}: ' + process.pid);
    await page.locator('#missing').click();
  });`;
const head = `import { test } from 'playwright-pool';`;
const works = `test('works', async ({ page }) => { await page.setContent('y'); });`;
const suite = `${head} ${waitingTest('waits')} ${works}`;

test('returns the browser if the worker, the host or the connection ends in the middle of an action', async ({
  start,
  hosted,
  faultProxy,
}) => {
  test.setTimeout(180_000);
  const ends: Record<string, { end: (worker: number, hosts: number[]) => void; error: string }> = {
    worker: { end: (worker) => process.kill(worker, 'SIGKILL'), error: 'worker process exited unexpectedly' },
    host: {
      end: (_, hosts) => hosts.forEach((pid) => process.kill(pid, 'SIGKILL')),
      error: "the Playwright host (the service's process between client and browser) has ended",
    },
    connection: { end: () => faultProxy.resetWebSockets(), error: 'closed' },
  };
  const run = start({
    files: {
      'a.spec.ts': `${head} ${Object.keys(ends)
        .map((name) => waitingTest(name))
        .join('')} ${works}`,
    },
    ...hosted.options({ via: faultProxy.url, pool: overPlaywright, more: `trace: 'retain-on-failure'` }),
  });
  for (const [name, { end }] of Object.entries(ends)) {
    await expect.poll(() => run.output, { timeout: 60_000 }).toContain(`running ${name}: `);
    const before = hostsOf(process.pid);
    expect(before.length).toBeGreaterThan(0);
    end(pidIn(run.output, `running ${name}`), before);
    await expect
      .poll(() => hostsOf(process.pid).filter((pid) => before.includes(pid)), { timeout: 30_000 })
      .toEqual([]);
  }
  const { results, output } = await run.finished();
  for (const [name, { error }] of Object.entries(ends)) {
    const [waiting] = results[name]!;
    expect(waiting!.status).toBe('failed');
    expect(waiting!.errors.map(({ message }) => message).join('\n')).toContain(error);
  }
  expect(results['host']![0]!.attachments.map(({ name }) => name)).toContain('trace');
  expect(results['works']?.map(({ status }) => status)).toEqual(['passed']);
  expect(output).toContain('leases: 4 acquired, 4 released, 0 leaked');
});

test('returns the browser and ends its Playwright host if the runner is killed during an action @long', async ({
  start,
  hosted,
}) => {
  const run = start({ files: { 'a.spec.ts': suite }, ...hosted.options({ pool: overPlaywright }) });
  await expect.poll(() => run.output, { timeout: 30_000 }).toContain('running waits: ');
  const before = hostsOf(process.pid);
  process.kill(run.pid, 'SIGKILL');
  await run.finished();
  await expect.poll(hosted.leased, { timeout: 15_000 }).toBe(0);
  await expect.poll(() => hostsOf(process.pid).filter((pid) => before.includes(pid))).toEqual([]);
  await expect.poll(() => processesWith(`run-${run.pid} `), { timeout: 30_000 }).toEqual([]);
});

test("ends a test's action and all processes if the service is killed @long", async ({ start }, testInfo) => {
  test.setTimeout(180_000);
  const directory = testInfo.outputPath('service');
  await using service = new CliProcess(['serve', '--port', '0', '--data-dir', directory], {
    env: { PLAYWRIGHT_POOL_API_KEY: 'the-key' },
  });
  const url = (await service.firstLine()).replace('listening on ', '');
  const run = start({ files: { 'a.spec.ts': suite }, ...leasingFrom(url, { pool: overPlaywright }) });
  await expect.poll(() => run.output, { timeout: 30_000 }).toContain('running waits: ');
  const hosts = hostsOf(service.child.pid!);
  expect(hosts.length).toBeGreaterThan(0);
  service.child.kill('SIGKILL');
  const { results, output } = await run.finished();
  expect(results['waits']?.map(({ status }) => status)).toEqual(['failed']);
  expect(output).toContain('infrastructure: 2 attempts had no working browser:');
  await expectNoProcessWith(directory);
  await expect.poll(() => processesWith('playwright/host.js').filter((pid) => hosts.includes(pid))).toEqual([]);
});

for (const transport of ['cdp', 'playwright'])
  test(`a silent ${transport} connection fails the running action with an explanation @long`, async ({
    start,
    hosted,
    faultProxy,
  }) => {
    test.setTimeout(180_000);
    const run = start({
      files: { 'a.spec.ts': `${head} ${waitingTest('waits')} ${waitingTest('times out', 12_000)} ${works}` },
      ...hosted.options({ via: faultProxy.url, pool: `transport: '${transport}'` }),
    });
    await expect.poll(() => run.output, { timeout: 30_000 }).toContain('running waits: ');
    faultProxy.silenceWebSockets();
    await expect.poll(() => run.output, { timeout: 90_000 }).toContain('running times out: ');
    faultProxy.silenceWebSockets();
    const { results, output } = await run.finished();
    const outcome = (title: string) => results[title]!.map(({ status, errors }) => [status, errors.at(-1)?.message]);
    expect(outcome('waits')).toEqual([
      ['failed', expect.stringContaining('sent nothing for 25 s on the connection to the browser of this test')],
    ]);
    expect(outcome('times out')).toEqual([
      ['timedOut', expect.stringMatching(/sent nothing for \d+ s on the connection/)],
    ]);
    expect(outcome('works')).toEqual([['passed', undefined]]);
    expect(output).toContain('2 × the service was silent during the test\n');
    expect(output).toContain('leases: 3 acquired, 3 released, 0 leaked');
  });

/** The Playwright hosts of a service in this process. A spare one, which has no session yet, is not among them. */
function hostsOf(servicePid: number): number[] {
  const descendants = descendantsOf(servicePid);
  return processesWith('playwright/host.js').filter((pid) => {
    try {
      const isNode = commandLine(pid)[0] === process.execPath;
      return isNode && descendants.includes(pid) && /\/playwright-\w+$/.test(readlinkSync(`/proc/${pid}/cwd`));
    } catch {
      return false;
    }
  });
}
