import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test as base } from '@playwright/test';
import { createClient, type Client, type Deployment, type Invocation } from '../../../src/client/index.ts';
import { appOf, collect } from '../../support/service/apps.ts';
import { expectNoProcessWith } from '../../support/processes/processes.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { dataDirectory } from '../../support/service/service.ts';

type Ended = { code: number | null; stdout: string; stderr: string };

type Fixtures = {
  /** Starts `playwright-pool serve` on the test's data directory. */
  serve: () => Promise<{ process: CliProcess; client: Client }>;
  /** Starts `playwright-pool` against the service that was started last. */
  start: (...args: string[]) => CliProcess;
  /** Runs a command to its end. */
  run: (...args: string[]) => Promise<Ended>;
  /** Creates a directory with an application. */
  application: (module: string) => Promise<string>;
};

const apiKey = 'a-key-for-this-test';

const test = base.extend<Fixtures>({
  serve: async ({}, use, testInfo) => {
    const started: AsyncDisposable[] = [];
    await use(async () => {
      const process = new CliProcess(['serve', '--data-dir', dataDirectory(testInfo)], {
        env: { PLAYWRIGHT_POOL_API_KEY: apiKey },
      });
      started.push(process);
      const url = (await process.firstLine()).replace('listening on ', '');
      testInfo.annotations.push({ type: 'service', description: url });
      const client = createClient({ baseURL: url, apiKey });
      started.push(client);
      return { process, client };
    });
    for (const one of started.toReversed()) await one[Symbol.asyncDispose]();
    await expectNoProcessWith(testInfo.outputPath());
  },
  start: async ({}, use, testInfo) => {
    const started: CliProcess[] = [];
    await use((...args) => {
      const url = testInfo.annotations.findLast(({ type }) => type === 'service')!.description!;
      const env = { PLAYWRIGHT_POOL_BASE_URL: url, PLAYWRIGHT_POOL_API_KEY: apiKey, TOKEN: 'from the environment' };
      const cli = new CliProcess(args, { cwd: testInfo.outputPath(), env });
      started.push(cli);
      return cli;
    });
    for (const one of started) await one[Symbol.asyncDispose]();
  },
  run: async ({ start }, use) => {
    await use(async (...args) => {
      const cli = start(...args);
      const ended = { stdout: '', stderr: '' };
      for (const stream of ['stdout', 'stderr'] as const) {
        cli.child[stream]!.setEncoding('utf8').on('data', (text: string) => (ended[stream] += text));
      }
      const { code } = await cli.exited;
      return { code, ...ended };
    });
  },
  application: async ({}, use, testInfo) => {
    await use(async (module) => {
      const directory = testInfo.outputPath('application');
      await mkdir(join(directory, '.git'), { recursive: true });
      await mkdir(join(directory, 'node_modules/greeting'), { recursive: true });
      await writeFile(join(directory, '.git/config'), 'secret');
      await writeFile(join(directory, 'node_modules/greeting/index.js'), "module.exports = 'Hello';");
      await symlink('greeting', join(directory, 'node_modules/linked'));
      await symlink('/etc', join(directory, 'outside'));
      await writeFile(join(directory, 'index.mjs'), module);
      return directory;
    });
  },
});

const source = appOf(
  {
    greet:
      "({ name }) => { console.log('greeting \\x1b[31m' + name); return { text: greeting + ' ' + name, token: process.env.TOKEN, place: process.env.PLACE, git: existsSync('.git') }; }",
    fail: "() => { throw new Error('not today') }",
    wait: "() => { console.log('waiting'); return new Promise((done) => setTimeout(done, 600_000)); }",
    loop: "() => { console.log('looping'); for (;;); }",
    nothing: '() => {}',
  },
  "import { existsSync } from 'node:fs'; import greeting from 'linked'; console.log('loaded');",
);

test('deploys an application from a directory, invokes it, and shows its logs and invocations', async ({
  serve,
  run,
  start,
  application,
}) => {
  const { client } = await serve();
  const directory = await application(source);
  expect(await run('deploy', directory, '--app-version', '1.0')).toMatchObject({
    code: 0,
    stdout: '',
    stderr: expect.stringMatching(/^loaded\nDeployed app 1\.0, with the actions greet, fail, wait, loop, nothing/),
  });
  const again = await run('deploy', directory, '--app-version', '1.0');
  expect(again).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/has failed: the version 1\.0 .* deploy with force/),
  });
  const deployed = await run(
    'deploy',
    directory,
    '--app-version',
    '1.0',
    '--force',
    '--env',
    'TOKEN',
    '--env',
    'PLACE=a=b',
    '--json',
  );
  const { id } = JSON.parse(deployed.stdout) as Deployment;

  const greeted = await run('invoke', 'app', 'greet', '--app-version', '1.0', '--payload', '{"name":"Ann"}');
  expect(greeted).toMatchObject({ code: 0, stderr: 'loaded\ngreeting \\u001b[31mAnn\n' });
  expect(JSON.parse(greeted.stdout)).toEqual({
    text: 'Hello Ann',
    token: 'from the environment',
    place: 'a=b',
    git: false,
  });
  expect(await run('invoke', 'app', 'nothing', '--app-version', '1.0')).toEqual({
    code: 0,
    stdout: '',
    stderr: 'loaded\n',
  });
  const failed = await run('invoke', 'app', 'fail', '--app-version', '1.0');
  expect(failed).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/has failed: Error: not today\n$/),
  });
  const begun = await run('invoke', 'app', 'wait', '--app-version', '1.0', '--async');
  const waiting = begun.stdout.trim();

  const interrupted = start('invoke', 'app', 'wait', '--app-version', '1.0');
  await expect.poll(() => interrupted.output).toContain('waiting');
  interrupted.child.kill('SIGINT');
  expect((await interrupted.exited).code).toBe(130);

  const listed = await run('invocations', 'list', '--app', 'app', '--since', '10m', '--json');
  expect(
    (JSON.parse(listed.stdout) as Invocation[]).map(({ status, status_reason }) => status_reason ?? status),
  ).toEqual(['it was cancelled', 'running', 'Error: not today', 'succeeded', 'succeeded']);
  expect((await run('invocations', 'list', '--status', 'running')).stdout).toMatch(
    new RegExp(`^ID +APP .*\\n${waiting} +app +1\\.0 +wait +running .*\\n$`),
  );
  for (const [filter, value] of [
    ['query', 'none'],
    ['app-version', '2.0'],
    ['action', 'greeted'],
    ['deployment', 'other'],
  ] as const) {
    expect((await run('invocations', 'list', `--${filter}`, value)).stdout, filter).toBe('No invocations match.\n');
  }
  expect(JSON.parse((await run('invocations', 'list', '--limit', '1', '--json')).stdout)).toHaveLength(1);

  const logs = await run('logs', id);
  expect(logs).toMatchObject({ code: 0, stderr: 'running\n' });
  expect(logs.stdout).toMatch(/^\d{4}-\S+Z loaded\n/);
  expect(logs.stdout).toContain('Z greeting \\u001b[31mAnn\n');
  expect((await run('logs', waiting)).stdout).toMatch(/Z loaded\n.*Z waiting\n$/);
  expect((await run('logs', id, '--since', '0s')).stdout).toBe('');
  const following = run('logs', id, '--follow', '--since', '5m', '--json');
  expect((await run('deployments', 'list', '--app', 'app')).stdout).toMatch(
    new RegExp(`\\n${id} +app +1\\.0 +running `),
  );
  expect(await run('deployments', 'delete', id)).toMatchObject({ code: 0, stdout: `Deleted the deployment ${id}.\n` });
  const events = (await following).stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { event: string; message: string });
  expect(events.filter(({ event }) => event === 'log').map(({ message }) => message)).toContain('loaded');
  expect(events.at(-1)).toMatchObject({ event: 'deployment_state', message: 'stopped: it was deleted' });
  expect((await client.invocations.retrieve(waiting)).status).toBe('failed');

  expect(await run('logs', 'nowhere')).toMatchObject({
    code: 1,
    stderr: 'playwright-pool: no deployment and no invocation has the id nowhere\n',
  });
  expect(await run('logs', id, '--api-key', 'wrong')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('401'),
  });
});

test('the commands for apps refuse wrong arguments, and have a help @long', async ({ serve, run, application }) => {
  await serve();
  const directory = await application(source);
  const elsewhere = ['deploy', join(directory, 'node_modules'), '--entrypoint', 'greeting/index.js'];
  expect(await run(...elsewhere)).toMatchObject({ code: 1, stderr: expect.stringContaining('has failed: ') });
  for (const [args, said] of [
    [['invoke', 'app', 'greet', '--payload', '{name}'], 'must be JSON'],
    [['invoke', 'app', 'greet', '--timeout', '3601'], 'from 10 to 3600'],
    [['invocations', 'list', '--limit', '101'], 'from 1 to 100'],
    [['invoke', 'app', 'greet', '--timeout', '9'], 'from 10 to 3600'],
    [['deploy', directory, '--env', 'NOT_THERE'], 'There is no variable NOT_THERE'],
    [['deploy', join(directory, 'node_modules')], 'name its module with --entrypoint'],
    [['deploy', join(directory, 'gone')], 'there is no directory'],
    [['deploy', join(directory, 'index.js'), '--entrypoint', 'index.js'], 'there is no directory'],
  ] as const) {
    expect(await run(...args)).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(said) });
  }
  for (const command of ['deploy', 'deployments', 'logs', 'invoke', 'invocations']) {
    expect((await run(command, '--help')).stdout, command).toMatch(/playwright-pool/);
  }
});

test('ends the applications of a service even if it is killed with -9, and the next service reports that @long', async ({
  serve,
  run,
  application,
}, testInfo) => {
  const { process, client } = await serve();
  expect((await run('deploy', await application(source))).code).toBe(0);
  const ids: string[] = [];
  for (const action_name of ['loop', 'wait']) {
    const { id } = await client.invocations.create({ app_name: 'app', action_name, async: true });
    for await (const { message } of client.invocations.follow(id)) if (message === `${action_name}ing`) break;
    ids.push(id);
  }
  process.child.kill('SIGKILL');
  await process.exited;
  await expectNoProcessWith(testInfo.outputPath());

  const next = await serve();
  expect((await collect(next.client.deployments.list())).map(({ status }) => status)).toEqual(['running']);
  expect((await collect(next.client.apiKeys.list())).map(({ name }) => name)).toEqual(['service']);
  for (const id of ids) {
    expect(await next.client.invocations.retrieve(id)).toMatchObject({
      status: 'failed',
      status_reason: 'the service ended before the invocation did',
    });
  }
  const greeted = await run('invoke', 'app', 'greet', '--payload', '{"name":"Bob"}', '--json');
  expect(JSON.parse(greeted.stdout)).toMatchObject({
    status: 'succeeded',
    output: expect.stringContaining('Hello Bob'),
  });
});

test('deploy deletes an interrupted deployment, and a second Ctrl+C exits at once @long', async ({
  serve,
  start,
  application,
}) => {
  const { process, client } = await serve();
  const directory = await application(
    "console.log('loading'); await new Promise((done) => setTimeout(done, 600_000));",
  );
  const loading = async () => {
    const cli = start('deploy', directory);
    await expect.poll(() => cli.output, { timeout: 20_000 }).toContain('loading');
    return cli;
  };
  const once = await loading();
  once.child.kill('SIGINT');
  expect((await once.exited).code).toBe(130);
  expect((await collect(client.deployments.list())).map(({ status }) => status)).toEqual(['stopped']);

  const twice = await loading();
  process.child.kill('SIGSTOP');
  try {
    const interrupted = () => {
      twice.child.kill('SIGINT');
      return twice.child.exitCode;
    };
    await expect.poll(interrupted).toBe(130);
  } finally {
    process.child.kill('SIGCONT');
  }
});
