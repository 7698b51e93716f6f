import { expect } from '@playwright/test';
import { NotFoundError, toFile } from '@onkernel/sdk';
import { appOf, collect, test } from '../../support/service/apps.ts';
import { zipOf } from '../../support/service/uploads.ts';

const source = appOf({
  greet: "({ name }) => { console.log('greeting'); return { text: 'Hello ' + name }; }",
  fail: "() => { throw new Error('not today') }",
  wait: "() => { console.log('waiting'); return new Promise((done) => setTimeout(done, 600_000)); }",
});

test("the hosted service's SDK deploys, follows, invokes, lists, cancels and deletes an app", async ({ kernel }) => {
  const file = await toFile(await zipOf([{ name: 'src/index.mjs', content: source }]), 'app.zip');
  const deployment = await kernel.deployments.create({
    entrypoint_rel_path: 'src/index.mjs',
    env_vars: { TOKEN: 'secret' },
    file,
    force: true,
    region: 'aws.us-east-1a',
    version: '1.0.0',
  });
  expect(deployment).toMatchObject({ env_vars: { TOKEN: '' }, source_type: 'file' });
  for await (const event of await kernel.deployments.follow(deployment.id)) {
    if (event.event === 'deployment_state' && event.deployment.status === 'running') break;
  }
  expect((await kernel.deployments.retrieve(deployment.id)).status).toBe('running');
  const [app] = await collect(kernel.apps.list({ app_name: 'app' }));
  expect(app).toMatchObject({ version: '1.0.0', deployment: deployment.id });

  const invoke = (action_name: string, options: object = {}) =>
    kernel.invocations.create({ app_name: 'app', action_name, version: '1.0.0', ...options });
  const greeted = await invoke('greet', { payload: '{"name":"Ann"}' });
  expect(greeted).toMatchObject({ status: 'succeeded', output: '{"text":"Hello Ann"}', action_name: 'greet' });
  expect(await invoke('fail')).toMatchObject({ status: 'failed', status_reason: 'Error: not today' });
  const waiting = await invoke('wait', { async: true, async_timeout_seconds: 60 });
  expect(waiting.status).toBe('queued');
  let said: string | undefined;
  for await (const event of await kernel.invocations.follow(waiting.id, { since: '5m' })) {
    if (event.event !== 'log') continue;
    said = event.message;
    break;
  }
  expect(said).toBe('waiting');
  expect((await kernel.invocations.listBrowsers(waiting.id)).browsers).toEqual([]);
  await kernel.invocations.deleteBrowsers(waiting.id);
  const cancelled = { status: 'failed', status_reason: 'it was cancelled' };
  expect(await kernel.invocations.update(waiting.id, { status: 'failed' })).toMatchObject(cancelled);
  const listed = await collect(kernel.invocations.list({ app_name: 'app', since: '1h', limit: 2 }));
  const ends = listed.map(({ action_name, status }) => `${action_name} ${status}`);
  expect(ends).toEqual(['wait failed', 'fail failed', 'greet succeeded']);
  expect((await kernel.invocations.retrieve(greeted.id)).payload).toBe('{"name":"Ann"}');

  await kernel.deployments.delete(deployment.id);
  const events = await collect(await kernel.deployments.follow(deployment.id));
  expect(events.at(-1)).toMatchObject({ event: 'deployment_state', deployment: { status: 'stopped' } });
  expect((await collect(kernel.deployments.list())).map(({ status }) => status)).toEqual(['stopped']);
  await expect(invoke('greet')).rejects.toThrow(NotFoundError);
  const github = { type: 'github' as const, url: 'https://example.com/a', ref: 'main', entrypoint: 'index.js' };
  const refused = kernel.deployments.create({ source: github });
  await expect(refused).rejects.toThrow('501 this service does not support source');
});
