import type { RunTestResult, TestRun } from '../contract/test-runs.ts';
import { runTestError } from '../client/run-summary.ts';

/** A run as a CTRF report: https://github.com/ctrf-io/ctrf, version 0.0 of the schema. */
export function ctrf(run: TestRun, tests: RunTestResult[]): string {
  const statuses = tests.map(ctrfStatus);
  const count = (status: string) => statuses.filter((other) => other === status).length;
  const summary = {
    tests: tests.length,
    passed: count('passed'),
    failed: count('failed'),
    skipped: count('skipped'),
    pending: count('pending'),
    other: count('other'),
    flaky: run.flaky,
    start: Date.parse(run.started_at),
    stop: Date.parse(run.updated_at),
  };
  const results = {
    tool: { name: 'playwright' },
    summary,
    tests: tests.map((test, index) => {
      const { id, project, file, title, shard, status, duration_ms = 0, retries = 0, error, replay_url, trace } = test;
      const attachments = [
        ...(replay_url === undefined ? [] : [{ name: 'replay', contentType: 'text/html', path: replay_url }]),
        ...(trace === undefined ? [] : [{ name: 'trace', contentType: 'application/zip', path: trace }]),
      ];
      return {
        testId: id,
        name: title.at(-1) || id,
        suite: [file, ...title.slice(0, -1)],
        filePath: file,
        status: statuses[index],
        rawStatus: status,
        duration: Math.round(duration_ms),
        retries,
        flaky: test.flaky ?? false,
        ...(error !== undefined && { message: error }),
        ...(attachments.length > 0 && { attachments }),
        extra: { project, shard },
      };
    }),
  };
  return `${JSON.stringify({ reportFormat: 'CTRF', specVersion: '0.0.0', generatedBy: 'playwright-pool', results }, undefined, 2)}\n`;
}

/** A run as JUnit's XML, with the elements and names of Playwright's own reporter. */
export function junit(run: TestRun, tests: RunTestResult[]): string {
  const suites = new Map<string, RunTestResult[]>();
  for (const test of tests) {
    const key = JSON.stringify([test.project, test.file]);
    const suite = suites.get(key);
    if (suite) suite.push(test);
    else suites.set(key, [test]);
  }
  const time = (Date.parse(run.updated_at) - Date.parse(run.started_at)) / 1000;
  const root = { id: run.run, name: run.run, ...junitCounts(tests), time };
  const elements = [...suites.values()].map((own) => {
    const { file, project } = own[0]!;
    const suite = { name: file, timestamp: run.started_at, hostname: project, ...junitCounts(own) };
    return `<testsuite ${attributes(suite)}>\n${own.map(testcase).join('\n')}\n</testsuite>`;
  });
  const lines = [`<testsuites ${attributes(root)}>`, ...elements, '</testsuites>'];
  return `<?xml version="1.0" encoding="UTF-8"?>\n${lines.join('\n')}\n`;
}

function ctrfStatus({ ok, status }: RunTestResult): string {
  if (ok === undefined) return status === 'waiting' ? 'pending' : 'other';
  return !ok ? 'failed' : status === 'skipped' ? 'skipped' : 'passed';
}

function junitCounts(tests: RunTestResult[]): Record<string, number> {
  return {
    tests: tests.length,
    failures: tests.filter(({ ok }) => ok === false).length,
    skipped: tests.filter(({ status, ok }) => ok && status === 'skipped').length,
    errors: tests.filter(({ ok }) => ok === undefined).length,
    time: tests.reduce((sum, { duration_ms = 0 }) => sum + duration_ms, 0) / 1000,
  };
}

function testcase(test: RunTestResult): string {
  const { title, file, duration_ms = 0, ok, status, error, replay_url, trace } = test;
  const message = attributes({ message: runTestError(test) });
  const output = [replay_url && `replay: ${replay_url}`, trace && `[[ATTACHMENT|${trace}]]`].filter(Boolean).join('\n');
  const parts = [
    ok === undefined ? `<error ${message}/>` : '',
    ok === false ? `<failure ${message} type="${status}">${xml(error ?? '')}</failure>` : '',
    ok && status === 'skipped' ? '<skipped/>' : '',
    output && `<system-out>${xml(output)}</system-out>`,
  ];
  const named = { name: title.join(' › '), classname: file, time: duration_ms / 1000 };
  return `<testcase ${attributes(named)}>${parts.join('')}</testcase>`;
}

function attributes(values: Record<string, string | number>): string {
  return Object.entries(values)
    .map(
      ([name, value]) =>
        `${name}="${xml(String(value)).replaceAll(/[\t\n\r]/g, (space) => `&#${space.charCodeAt(0)};`)}"`,
    )
    .join(' ');
}

/** Escapes text, and leaves out the characters that XML can't contain or advises against. */
function xml(text: string): string {
  return text
    .replaceAll(/(?![\t\n\r])[\p{Cc}\uFFFE\uFFFF]/gu, '')
    .replaceAll(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
