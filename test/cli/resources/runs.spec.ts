import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { createClient } from '../../../src/client/index.ts';
import { outputPath } from '../../support/runs/output-path.ts';
import { SampleRun } from '../../support/runs/sample-run.ts';
import { expect, expectFailure, printed, test as base } from '../commands.ts';
// Of the npm package ctrf 0.3.0 (license: MIT), without line breaks.
import ctrfSchema from './ctrf-schema-0.0.json' with { type: 'json' };

const test = base.extend<{ run: SampleRun }>({
  run: async ({ service }, use, { testId }) => {
    await using client = createClient({ baseURL: service.url, apiKey: service.apiKey });
    const run = new SampleRun(client, nameOf(testId));
    await run.start(1);
    await run.start(2);
    await run.endFirst();
    await run.endSecond();
    await use(run);
  },
});

const ctrf = z.fromJSONSchema(ctrfSchema as z.core.JSONSchema.JSONSchema);

const nameOf = (id: string) => `run-${id}`;

test('runs lists a run and shows its shards, failures, slowest and flaky tests', async ({ cli, run }, { testId }) => {
  const name = nameOf(testId);
  await run.takeOver();
  expect(printed(await cli('runs list'))).toMatch(new RegExp(`^RUN .*\n(?:.*\n)*${name} +1 +failed +6/6 +1 +1 +3 `));
  const shown = printed(await cli(`runs show ${name}`));
  expect(shown).toMatch(`run ${name}: failed, 6 of 6 tests finished: 1 failed, 1 flaky, 1 skipped`);
  expect(shown).toContain(
    `shop.spec.ts › shop › pays [chromium] (failed, shard 1)
    Error: expected <b> & "c" [0m
        at shop.spec.ts:3
    replay: http://127.0.0.1:9/replays/1
    trace: test-results/trace.zip`,
  );
  expect(shown).toMatch(
    /SHARD +STATE +FINISHED +FAILED +TAKEN OVER .*\n1\/3 +ended +4 of 4 +1 +2 .*\n2.*\n3\/3 +absent +0 of 0 /,
  );
  expect(shown).toMatch(/Slowest tests:\nTIME +USUAL +TEST\n65\.0 s +65\.0 s +shop\.spec\.ts › shop › signs in/);
  expect(shown).toMatch(/Flaky in the last 30 runs:\nRUNS +TEST\n1 +shop\.spec\.ts › shop › searches \[chromium\]\n$/);
  const markdown = printed(await cli(`runs show ${name} --markdown`));
  expect(markdown).toMatch(/^### Test run .*failed\n\n6 of 6 tests finished/);
  expect(markdown).toContain('[replay](<http://127.0.0.1:9/replays/1>) | test-results/trace.zip |');
  expect(markdown).not.toContain('<b>');
  expectFailure(await cli(`runs show ${name} --attempt 7`), 1, 'attempt 7');
});

test('runs prints JSON, and finds the command of a run by its number of shards', async ({ cli, run }, { testId }) => {
  const name = nameOf(testId);
  await run.takeOver();
  await run.start(1, { total: 1, name: 'member-of-one' });
  const [one, three] = [
    { run: name, total_shards: 1 },
    { run: name, total_shards: 3 },
  ];
  expect(JSON.parse(printed(await cli('runs list --json'))).slice(0, 2)).toMatchObject([one, three]);
  expect(JSON.parse(printed(await cli(`runs show ${name} --json`)))).toMatchObject({ run: one });
  const shown = JSON.parse(printed(await cli(`runs show ${name} --shards 3 --json`)));
  expect(shown).toMatchObject({ run: { ...three, state: 'failed' }, failed: [{ status: 'failed' }], flaky: [{}] });
  expect(shown.slowest).toHaveLength(5);

  const report = `runs report ${name} --shards 3 --format junit`;
  const written = JSON.parse(printed(await cli(`${report} --output reports/ --json`)));
  const file = outputPath('reports/junit.xml');
  expect(written).toEqual({ file, bytes: (await readFile(file)).byteLength });
  expect(printed(await cli(report))).toBe(await readFile(file, 'utf8'));
  expectFailure(await cli(`runs show ${name} --shards 2`), 1, 'with 2 shards');
});

test('runs has help with examples', async ({ cli }) => {
  for (const command of ['list', 'show', 'report'])
    expect(printed(await cli(`runs ${command} --help`))).toMatch(
      new RegExp(`Examples?:\\n +\\$? *(?:npx )?playwright-pool runs ${command}`),
    );
});

test('runs reports a run as CTRF and JUnit, also before its end', async ({ cli, run, page }, { testId }) => {
  const name = nameOf(testId);
  const early = await cli(`runs report ${name} --format ctrf`);
  expect(early.stderr).toContain('not over');
  expect(JSON.parse(printed(early))).toMatchObject({ results: { summary: { tests: 6, passed: 2, pending: 2 } } });

  await run.takeOver();
  printed(await cli(`runs report ${name} --format ctrf --output ctrf.json`));
  const written = JSON.parse(await readFile(outputPath('ctrf.json'), 'utf8'));
  for (const report of [JSON.parse(printed(early)), written]) expect(ctrf.safeParse(report).error).toBeUndefined();
  const { reportFormat, results } = written;
  expect({ reportFormat, ...results.summary }).toMatchObject({
    reportFormat: 'CTRF',
    tests: 6,
    passed: 4,
    failed: 1,
    skipped: 1,
  });
  expect(results.tests[0]).toMatchObject({
    name: 'pays',
    suite: ['shop.spec.ts', 'shop'],
    status: 'failed',
    retries: 1,
    attachments: [{ path: 'http://127.0.0.1:9/replays/1' }, { path: 'test-results/trace.zip' }],
  });

  const xml = printed(await cli(`runs report ${name} --format junit`));
  const junit = await page.evaluate((text) => {
    const root = new DOMParser().parseFromString(text, 'text/xml').documentElement;
    const suite = root.querySelector('testsuite')!;
    const counts = ['name', 'hostname', 'tests', 'failures', 'skipped', 'errors'].map((key) => suite.getAttribute(key));
    return {
      root: root.tagName,
      counts,
      failure: root.querySelector('testcase[name="shop › pays"] failure')!.textContent,
    };
  }, xml);
  expect(junit).toEqual({
    root: 'testsuites',
    counts: ['shop.spec.ts', 'chromium', '6', '1', '1', '0'],
    failure: 'Error: expected <b> & "c"[0m\n    at shop.spec.ts:3',
  });
});
