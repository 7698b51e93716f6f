import { fileURLToPath } from 'node:url';
import { expect, test } from '../support/runs/fault-runs.ts';

// A dead or frozen browser fails its own test only.

const processes = fileURLToPath(new URL('../support/processes/processes.ts', import.meta.url));

test("gives the test's worker a new browser after Chromium is killed or frozen, also between two tests", async ({
  run,
  hosted,
}) => {
  const suite = `
    import { test } from 'playwright-pool';
    import { processesWith } from '${processes}';
    const processesOf = (session) => processesWith('/' + session.id + '/');
    const signal = (session, name, pids = processesOf(session)) => {
      for (const pid of pids) {
        try {
          process.kill(pid, name);
        } catch {}
      }
    };
    test('killed', async ({ page, remote: { session } }) => {
      signal(session, 'SIGKILL');
      for (;;) await page.evaluate(1);
    });
    test('stopped', async ({ page, remote: { session } }) => {
      test.setTimeout(2000);
      signal(session, 'SIGSTOP');
      await page.evaluate(1);
    });
    test('stops its own at its end', async ({ remote: { session } }) => signal(session, 'SIGSTOP'));
    test('killed while it opens a page', async ({ browser, remote: { session } }) => {
      const context = await browser.newContext();
      const pids = processesOf(session);
      const opening = context.newPage().then(() => 'ends', () => 'ends');
      await new Promise((resolve) => setTimeout(resolve, 20));
      signal(session, 'SIGKILL', pids);
      test.expect(await Promise.race([opening, new Promise((resolve) => setTimeout(resolve, 10_000))])).toBe('ends');
    });
    let between;
    test('opens another', async ({ page, remote: { session } }) => { between = session; });
    test('freezes it without a page', () => signal(between, 'SIGSTOP'));
    test('works', async ({ page }, { workerIndex }) => {
      test.expect(workerIndex).toBe(2);
      await page.setContent('x');
    });`;
  const { results, output } = await run({ files: { 'browsers.spec.ts': suite }, ...hosted.options({ size: 2 }) });
  const statuses = Object.entries(results).map(([title, [attempt]]) => [title, attempt!.status]);
  expect(Object.fromEntries(statuses)).toEqual({
    killed: 'failed',
    stopped: 'timedOut',
    'stops its own at its end': 'passed',
    'killed while it opens a page': 'passed',
    'opens another': 'passed',
    'freezes it without a page': 'passed',
    works: 'passed',
  });
  expect(output).toMatch(
    /infrastructure: 2 attempts had no working browser:\n {2}2 × the browser was lost during the test\n/,
  );
  expect(output).toContain('leases: 6 acquired, 6 released, 0 leaked');
});
