import { readlinkSync } from 'node:fs';
import { descendantsOf } from '../../src/service/process/children/namespaces.ts';
import { commandLine, expectNoProcessWith, processesWith } from '../support/processes/processes.ts';
import { pidIn } from '../support/runs/fault-runs.ts';
import { expect, expectOutput, test } from './suite-runs.ts';

// Parts of a run end in the middle of an action over Playwright's own protocol, or their connection goes silent.

const pool = `transport: 'playwright'`;

/** The command-line options that select tests of the suite `actions`. */
const only = (...titles: string[]) => ['--grep', `(${titles.join('|')})$`];

test('returns the browser if the worker, the host or the connection ends in the middle of an action', async ({
  startSuite,
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
  const run = startSuite('actions', faultProxy.url, {
    pool,
    more: `trace: 'retain-on-failure'`,
    args: only(...Object.keys(ends), 'works'),
  });
  for (const [name, { end }] of Object.entries(ends)) {
    await expectOutput(run, `running ${name}: `);
    const before = hostsOf(process.pid);
    expect(before.length).toBeGreaterThan(0);
    end(pidIn(run.output, `running ${name}`), before);
    await expectEnded(before);
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

test('returns the browser and ends its host if the runner is killed in an action @long', async ({
  startSuite,
  hosted,
}) => {
  const run = startSuite('actions', hosted.url, { pool, args: only('waits', 'works') });
  await expectOutput(run, 'running waits: ');
  const before = hostsOf(process.pid);
  process.kill(run.pid, 'SIGKILL');
  await run.finished();
  await expect.poll(hosted.leased, { timeout: 15_000 }).toBe(0);
  await expectEnded(before);
  await expect.poll(() => processesWith(`run-${run.pid} `), { timeout: 30_000 }).toEqual([]);
});

test("ends a test's action and all processes if the service is killed @long", async ({ startSuite, served }) => {
  test.setTimeout(180_000);
  const run = startSuite('actions', served.url, { pool, args: only('waits', 'works') });
  await expectOutput(run, 'running waits: ');
  const hosts = hostsOf(served.child.pid!);
  expect(hosts.length).toBeGreaterThan(0);
  served.child.kill('SIGKILL');
  const { results, output } = await run.finished();
  expect(results['waits']?.map(({ status }) => status)).toEqual(['failed']);
  expect(output).toContain('infrastructure: 2 attempts had no working browser:');
  await expectNoProcessWith(served.directory);
  await expectEnded(hosts);
});

for (const transport of ['cdp', 'playwright'])
  test(`a silent ${transport} connection fails the running action with an explanation @long`, async ({
    startSuite,
    faultProxy,
  }) => {
    test.setTimeout(180_000);
    const run = startSuite('actions', faultProxy.url, {
      pool: `transport: '${transport}'`,
      args: only('waits', 'times out', 'works'),
    });
    for (const title of ['waits', 'times out']) {
      await expectOutput(run, `running ${title}: `, 90_000);
      faultProxy.silenceWebSockets();
    }
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

/** The hosts end. Others may have got their process ids. */
async function expectEnded(hosts: number[]): Promise<void> {
  const left = () => processesWith('playwright/host.js').filter((pid) => hosts.includes(pid));
  await expect.poll(left, { timeout: 30_000 }).toEqual([]);
}

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
