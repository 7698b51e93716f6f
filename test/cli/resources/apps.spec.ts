import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createClient, type Client, type Deployment, type Invocation } from '../../../src/client/index.ts';
import { appOf, collect } from '../../support/service/apps.ts';
import { expectNoProcessWith } from '../../support/processes/processes.ts';
import { CliProcess } from '../../support/service/service-process.ts';
import { outputPath } from '../../support/runs/output-path.ts';
import { expect, expectExit, expectFailure, printed, testWithOwnService as base } from '../commands.ts';

type Served = { process: CliProcess; client: Client; env: Record<string, string> };

type Fixtures = {
  /** Starts a service in an own process on the test's data directory. */
  serve: () => Promise<Served>;
  /** Creates a directory with an application. */
  application: (module: string) => Promise<string>;
};

const apiKey = 'a-key-for-this-test';

const test = base.extend<Fixtures>({
  serve: async ({}, use) => {
    const started: AsyncDisposable[] = [];
    await use(async () => {
      const process = new CliProcess(['serve', '--data-dir', outputPath('data')], {
        env: { PLAYWRIGHT_POOL_API_KEY: apiKey },
      });
      const url = (await process.firstLine()).replace('listening on ', '');
      const client = createClient({ baseURL: url, apiKey });
      started.push(process, client);
      return { process, client, env: { PLAYWRIGHT_POOL_BASE_URL: url, PLAYWRIGHT_POOL_API_KEY: apiKey } };
    });
    for (const one of started.toReversed()) await one[Symbol.asyncDispose]();
    await expectNoProcessWith(outputPath());
  },
  application: async ({}, use) => {
    await use(async (module) => {
      const directory = outputPath('application');
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

test('deploys a directory, invokes it, shows logs and invocations', async ({ cli, cliProcess, env, application }) => {
  const directory = await application(source);
  const greet = 'invoke app greet --app-version 1.0 --payload {"name":"Ann"}';
  const id = await test.step('deploys the application again with force only', async () => {
    expect(await cli(`deploy ${directory} --app-version 1.0`)).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(/^loaded\nDeployed app 1\.0, with the actions greet, fail, wait, loop, nothing/),
    });
    const again = await cli(`deploy ${directory} --app-version 1.0`);
    expectFailure(again, 1, /has failed: the version 1\.0 .* deploy with force/);
    const forced = `deploy ${directory} --app-version 1.0 --force --env TOKEN --env PLACE=a=b --json`;
    const deployed = await cli(forced, { env: { TOKEN: 'from the environment' } });
    return (JSON.parse(printed(deployed)) as Deployment).id;
  });

  await test.step('invokes actions', async () => {
    const greeted = await cli(greet);
    expect(greeted).toMatchObject({ code: 0, stderr: 'loaded\ngreeting \\u001b[31mAnn\n' });
    const found = { text: 'Hello Ann', token: 'from the environment', place: 'a=b', git: false };
    expect(JSON.parse(greeted.stdout)).toEqual(found);
    const nothing = await cli('invoke app nothing --app-version 1.0');
    expect(nothing).toEqual({ code: 0, stdout: '', stderr: 'loaded\n' });
    expectFailure(await cli('invoke app fail --app-version 1.0'), 1, /has failed: Error: not today\n$/);
    await using waiting = new CliProcess('invoke app wait --app-version 1.0'.split(' '), { env });
    await expect.poll(() => waiting.output).toContain('waiting');
    await expectExit(waiting, 'SIGINT', 130);
    const listed = await cli('invocations list --app app --since 10m --json');
    const results = (JSON.parse(listed.stdout) as Invocation[]).map((one) => one.status_reason ?? one.status);
    expect(results).toEqual(['it was cancelled', 'Error: not today', 'succeeded', 'succeeded']);
  });

  const running = printed(await cli('invoke app wait --app-version 1.0 --async')).trim();
  await test.step('lists invocations', async () => {
    expect(printed(await cli('invocations list --status running'))).toMatch(
      new RegExp(`^ID +APP .*\\n${running} +app +1\\.0 +wait +running .*\\n$`),
    );
    for (const filter of ['query none', 'app-version 2.0', 'action greeted', 'deployment other'])
      expect(printed(await cli(`invocations list --${filter}`)), filter).toBe('No invocations match.\n');
    expect(JSON.parse(printed(await cli('invocations list --limit 1 --json')))).toHaveLength(1);
  });

  await test.step('shows logs, and follows them until the deployment is deleted', async () => {
    expectFailure(await cli(`logs ${id} --api-key wrong`), 1, '401');
    const logs = await cli(`logs ${id}`);
    expect(logs).toMatchObject({ code: 0, stderr: 'running\n' });
    expect(logs.stdout).toMatch(/^\d{4}-\S+Z loaded\n/);
    expect(logs.stdout).toContain('Z greeting \\u001b[31mAnn\n');
    await expect.poll(async () => (await cli(`logs ${running}`)).stdout).toMatch(/Z loaded\n.*Z waiting\n$/);
    expect(printed(await cli(`logs ${id} --since 0s`))).toBe('');
    const following = cliProcess(`logs ${id} --follow --since 5m --json`);
    expect(printed(await cli('deployments list --app app'))).toMatch(new RegExp(`\\n${id} +app +1\\.0 +running `));
    expect(printed(await cli(`deployments delete ${id}`))).toBe(`Deleted the deployment ${id}.\n`);
    const lines = printed(await following)
      .trim()
      .split('\n');
    const events = lines.map((line) => JSON.parse(line) as { event: string; message: string });
    expect(events).toContainEqual(expect.objectContaining({ event: 'log', message: 'loaded' }));
    expect(events.at(-1)).toMatchObject({ event: 'deployment_state', message: 'stopped: it was deleted' });
    const ended = (JSON.parse(printed(await cli('invocations list --json'))) as Invocation[])[0];
    expect(ended).toMatchObject({ id: running, status: 'failed' });
    const unknown = 'playwright-pool: no deployment and no invocation has the id nowhere\n';
    expect(await cli('logs nowhere')).toMatchObject({ code: 1, stderr: unknown });
  });
});

test('the commands for apps refuse wrong arguments, and have a help @long', async ({ cli, application }) => {
  const directory = await application(source);
  const elsewhere = `deploy ${directory}/node_modules --entrypoint greeting/index.js`;
  expect(await cli(elsewhere)).toMatchObject({ code: 1, stderr: expect.stringContaining('has failed: ') });
  for (const [args, said] of [
    ['invoke app greet --payload {name}', 'must be JSON'],
    ['invoke app greet --timeout 3601', 'from 10 to 3600'],
    ['invocations list --limit 101', 'from 1 to 100'],
    ['invoke app greet --timeout 9', 'from 10 to 3600'],
    [`deploy ${directory} --env NOT_THERE`, 'There is no variable NOT_THERE'],
    [`deploy ${directory}/node_modules`, 'name its module with --entrypoint'],
    [`deploy ${directory}/gone`, 'there is no directory'],
    [`deploy ${directory}/index.js --entrypoint index.js`, 'there is no directory'],
  ] as const)
    expectFailure(await cli(args), 2, said);
  for (const command of ['deploy', 'deployments', 'logs', 'invoke', 'invocations'])
    expect(printed(await cli(`${command} --help`)), command).toMatch(/playwright-pool/);
});

test('a service reports the applications that ended by its kill -9 @long', async ({ serve, cli, application }) => {
  const { process, client, env } = await serve();
  printed(await cli(`deploy ${await application(source)}`, { env }));
  const ids: string[] = [];
  for (const action_name of ['loop', 'wait']) {
    const { id } = await client.invocations.create({ app_name: 'app', action_name, async: true });
    for await (const { message } of client.invocations.follow(id)) if (message === `${action_name}ing`) break;
    ids.push(id);
  }
  process.child.kill('SIGKILL');
  await process.exited;
  await expectNoProcessWith(outputPath());

  const next = await serve();
  expect((await collect(next.client.deployments.list())).map(({ status }) => status)).toEqual(['running']);
  expect((await collect(next.client.apiKeys.list())).map(({ name }) => name)).toEqual(['service']);
  for (const id of ids) {
    const status_reason = 'the service ended before the invocation did';
    expect(await next.client.invocations.retrieve(id)).toMatchObject({ status: 'failed', status_reason });
  }
  const greeted = await cli('invoke app greet --payload {"name":"Bob"} --json', { env: next.env });
  const output = expect.stringContaining('Hello Bob');
  expect(JSON.parse(printed(greeted))).toMatchObject({ status: 'succeeded', output });
});

test('deploy deletes an interrupted deployment; a second Ctrl+C exits now @long', async ({ serve, application }) => {
  const { process, client, env } = await serve();
  const slow = "console.log('loading'); await new Promise((done) => setTimeout(done, 600_000));";
  const directory = await application(slow);
  const loading = async () => {
    const cli = new CliProcess(['deploy', directory], { env });
    await expect.poll(() => cli.output, { timeout: 20_000 }).toContain('loading');
    return cli;
  };
  const once = await loading();
  await expectExit(once, 'SIGINT', 130);
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
