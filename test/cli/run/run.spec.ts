import { mkdir } from 'node:fs/promises';
import { isRunning } from '../../../src/service/process/children/is-running.ts';
import type { Ended } from '../../support/processes/command.ts';
import { FaultProxy } from '../../support/http/fault-proxy.ts';
import { outputPath } from '../../support/runs/output-path.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { expect, expectExit, expectFailure, testWithoutBrowsers as test } from '../commands.ts';

const printVariables =
  'console.log(JSON.stringify(Object.entries(process.env).filter(([name]) => /^P(LAYWRIGHT_POOL|W_TEST)_/.test(name))))';

test('run gives a command the variables of its pool, and exits with its code', async ({ cliProcess, service }) => {
  const [key, host] = [service.apiKey, new URL(service.url).host];
  await service.call('POST', '/browser_pools', { name: 'ci', size: 1 });
  const project = ((await service.call('GET', '/org/projects')).body as { id: string }[])[0]!.id;
  const urls = (query: string) => ({
    PLAYWRIGHT_POOL_WS_URL: `ws://${host}/playwright?${query}&token=${key}`,
    PLAYWRIGHT_POOL_CDP_URL: `ws://${host}/cdp?${query}&token=${key}`,
    PW_TEST_CONNECT_WS_ENDPOINT: `ws://${host}/playwright?${query}`,
  });
  const expected = {
    PLAYWRIGHT_POOL_BASE_URL: service.url,
    PLAYWRIGHT_POOL_API_KEY: key,
    PLAYWRIGHT_POOL_NAME: 'ci',
  };
  const command = ['--', process.execPath, '-e', `${printVariables}; process.exit(7)`];
  const byEnvironment = variablesOf(await cliProcess(['run', ...command]));
  // All clients of a command are one run.
  expect(byEnvironment).toMatchObject({ ...expected, ...urls(`pool=ci&run=${runIn(byEnvironment)}`) });
  expect(JSON.parse(byEnvironment['PW_TEST_CONNECT_HEADERS']!)).toEqual({ Authorization: `Bearer ${key}` });

  // Options name another service than the environment, and other headers stay.
  const other = {
    PLAYWRIGHT_POOL_BASE_URL: 'http://127.0.0.1:1',
    PLAYWRIGHT_POOL_NAME: 'other',
    PLAYWRIGHT_POOL_PROJECT: project,
    PW_TEST_CONNECT_HEADERS: '{"x-team":"shop"}',
  };
  const options = ['--base-url', `${service.url}/`, '--api-key', key, '--pool', 'ci'];
  const byOptions = variablesOf(await cliProcess(['run', ...options, ...command], { env: other }));
  expect(byOptions).toMatchObject({
    ...expected,
    ...urls(`pool=ci&run=${runIn(byOptions)}&project=${project}`),
    PLAYWRIGHT_POOL_BASE_URL: `${service.url}/`,
  });
  expect(runIn(byOptions)).not.toBe(runIn(byEnvironment));
  expect(JSON.parse(byOptions['PW_TEST_CONNECT_HEADERS']!)).toEqual({
    'x-team': 'shop',
    Authorization: `Bearer ${key}`,
  });
});

test('run exposes localhost to far browsers unless the user chose otherwise', async ({ cliProcess, service }) => {
  await service.call('POST', '/browser_pools', { name: 'ci', size: 1 });
  // This address isn't known as one of this machine.
  const headersFor = () => ({ host: new URL(service.url).host });
  await using far = await FaultProxy.start(service.url, { host: '0.0.0.0', headersFor });
  const exposed = async (url: string, env: Record<string, string> = {}) => {
    const line = ['run', '--base-url', url, '--', process.execPath, '-e', `${printVariables}; process.exit(7)`];
    return variablesOf(await cliProcess(line, { env }))['PW_TEST_CONNECT_EXPOSE_NETWORK'];
  };
  expect(await exposed(service.url)).toBe(undefined);
  expect(await exposed(far.url)).toBe('<loopback>');
  for (const chosen of ['', '*.test'])
    expect(await exposed(far.url, { PW_TEST_CONNECT_EXPOSE_NETWORK: chosen })).toBe(chosen);
});

test('run leaves the options of a command to it', async ({ cliProcess, service }) => {
  await service.call('POST', '/browser_pools', { name: 'ci', size: 1 });
  for (const words of [
    ['run', 'echo', '--pool', 'x', '--version', '--', '-h'],
    ['run', '--pool', 'ci', '--', 'echo', '--pool', 'x', '--version', '--', '-h'],
  ])
    expect(await cliProcess(words)).toEqual({ code: 0, stdout: '--pool x --version -- -h\n', stderr: '' });
});

test('run passes signals on, and ends by the signal that ended the command', async ({ env, service }) => {
  await service.call('POST', '/browser_pools', { name: 'ci', size: 1 });
  await mkdir(outputPath(), { recursive: true });
  const start = (code: string) =>
    new CliProcess(
      ['run', '--', process.execPath, '-e', `${code}; setInterval(() => {}, 1000); console.log('ready')`],
      {
        cwd: outputPath(),
        env,
      },
    );
  const handlers = `for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
    process.on(signal, () => setTimeout(() => { console.log('got ' + signal); process.exit(3); }, 200))`;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    await using handled = start(handlers);
    expect(await handled.firstLine()).toBe('ready');
    await expectExit(handled, signal, 3);
    expect(handled.output).toBe(`ready\ngot ${signal}\n`);

    await using killed = start('');
    expect(await killed.firstLine()).toBe('ready');
    killed.child.kill(signal);
    expect(await killed.exited).toEqual({ code: null, signal });
  }
});

test('a command and its processes end if run is killed', async ({ env, service }) => {
  test.skip(process.platform === 'win32', 'Windows tells nobody that a process was killed');
  await service.call('POST', '/browser_pools', { name: 'ci', size: 1 });
  await mkdir(outputPath(), { recursive: true });
  // It prints a second later: by then, run has told its guard which process to end.
  const script = `sleep 600 & trap '' TERM; while :; do sleep 1; echo $$ $!; done`;
  await using run = new CliProcess(['run', '--', 'sh', '-c', script], { cwd: outputPath(), env });
  const pids = (await run.firstLine()).split(' ').map(Number);
  run.child.kill('SIGKILL');
  await expect.poll(() => pids.filter(isRunning), { timeout: 20_000 }).toEqual([]);
});

for (const [runs, tag] of [
  [3, ''],
  [30, ' @long'],
] as const)
  test(`a command that has only begun ends if run is killed, ${runs} times${tag}`, async ({ env, service }) => {
    test.skip(process.platform !== 'linux', 'only /proc tells which process has just begun');
    test.slow();
    await service.call('POST', '/browser_pools', { name: 'ci', size: 1 });
    await mkdir(outputPath(), { recursive: true });
    const command = ['sh', '-c', 'kill -9 $PPID; echo $$; exec sleep 60'];
    for (let count = 0; count < runs; count += 3) {
      const started = Array.from(
        { length: 3 },
        () => new CliProcess(['run', '--', ...command], { cwd: outputPath(), env }),
      );
      const pids = (await Promise.all(started.map((run) => run.firstLine()))).map(Number);
      await expect.poll(() => pids.filter(isRunning), { timeout: 20_000 }).toEqual([]);
      for (const run of started) expect(await run.exited).toEqual({ code: null, signal: 'SIGKILL' });
    }
  });

test('run and url report mistakes before anything runs', async ({ cli, service }) => {
  expectFailure(await cli('run'), 2, 'there is no command to run. Write it after --, for example: playwright-pool run');
  expectFailure(await cli('run --pol ci -- echo'), 2, "unknown option '--pol'\n(Did you mean --pool?)");
  expectFailure(await cli('run --pool -- echo'), 2, 'It must be the name of a pool.');
  expectFailure(await cli('url --cpd'), 2, "unknown option '--cpd'\n(Did you mean --cdp?)");
  expectFailure(await cli('run -- echo'), 1, 'the service has no pool. Create one: playwright-pool pools create ci');
  const missing = 'the service has no pool "ci". Create it: playwright-pool pools create ci --size 4';
  expectFailure(await cli('run --pool ci -- echo'), 1, missing);

  for (const name of ['ci', 'nightly']) await service.call('POST', '/browser_pools', { name, size: 1 });
  const several = 'the service has several pools: choose one with --pool. It has nightly, ci';
  for (const command of ['run -- echo', 'url']) expectFailure(await cli(command), 1, several);
  expectFailure(await cli('url --pool c1'), 1, 'the service has no pool "c1". It has nightly, ci.');
  expectFailure(await cli('run --api-key wrong --pool ci -- echo'), 1, '401 unauthorized');
  const headers = { PW_TEST_CONNECT_HEADERS: 'x-team=shop' };
  expectFailure(await cli('run --pool ci -- echo', { env: headers }), 2, 'PW_TEST_CONNECT_HEADERS is not JSON');
});

test('run exits with 127 for a missing command, and 126 for a file without a program', async ({ cli, service }) => {
  await service.call('POST', '/browser_pools', { name: 'ci', size: 1 });
  const missing = 'the command "playwrigth" was not found. Check its name. A tool of the project needs npx before it';
  expectFailure(await cli('run -- playwrigth test'), 127, missing);
  expectFailure(await cli('run -- /etc/passwd'), 126, 'the command "/etc/passwd" can\'t be run (EACCES)');
});

test('url prints the URL of a pool for each protocol', async ({ cli, service }) => {
  await service.call('POST', '/browser_pools', { name: 'ci', size: 1 });
  const end = (path: string) =>
    `ws://${new URL(service.url).host}/${path}?pool=ci&token=${encodeURIComponent(service.apiKey)}`;
  expect(await cli('url')).toEqual({ code: 0, stdout: `${end('playwright')}\n`, stderr: '' });
  expect(await cli('url --pool ci --cdp')).toEqual({ code: 0, stdout: `${end('cdp')}\n`, stderr: '' });
  expect(JSON.parse((await cli('url --json')).stdout)).toEqual({ url: end('playwright') });
});

function runIn({ PLAYWRIGHT_POOL_WS_URL: url = '' }: Record<string, string>): string {
  return new URL(url).searchParams.get('run')!;
}

function variablesOf({ code, stdout, stderr }: Ended): Record<string, string> {
  expect({ code, stderr }).toEqual({ code: 7, stderr: '' });
  return Object.fromEntries(JSON.parse(stdout) as [string, string][]);
}
