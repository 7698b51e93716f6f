import { expect, test } from './commands.ts';

test('a pool is created, listed, changed, flushed and deleted', async ({ cli, service }) => {
  expect(await cli(['pools', 'list'])).toMatchObject({ code: 0, stdout: 'There are no pools.\n' });
  await service.call('POST', '/profiles', { name: 'ann' });
  expect(await cli(['pools', 'create', 'ci', '--size', '1', '--timeout', '120', '--profile', 'ann'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^Created the pool ci \(\w+\)\.\n$/),
  });
  const { browser_pool_config } = (await service.call('GET', '/browser_pools/ci')).body;
  expect(browser_pool_config).toMatchObject({ timeout_seconds: 120, profile: { name: 'ann' } });
  expect((await cli(['pools', 'list'])).stdout).toMatch(/^NAME +ID +SIZE +AVAILABLE +LEASED +CREATED\nci +\w+ +1 /);
  const { body: leased } = await service.call('POST', '/browser_pools/ci/acquire', {});
  await service.call('POST', '/browser_pools/ci/release', { session_id: leased.session_id, reuse: true });
  const changes = ['--size', '2', '--timeout', '240', '--rename', 'large', '--discard-idle'];
  const changed = await cli(['pools', 'update', 'ci', ...changes, '--json']);
  expect(JSON.parse(changed.stdout)).toMatchObject({
    name: 'large',
    browser_pool_config: { size: 2, timeout_seconds: 240, profile: { name: 'ann' } },
  });

  const { body: fresh } = await service.call('POST', '/browser_pools/large/acquire', {});
  expect(fresh.session_id).not.toBe(leased.session_id);
  await expect.poll(async () => (await service.call('GET', '/browser_pools/large')).body.available_count).toBe(1);
  expect(await cli(['pools', 'flush', 'large'])).toMatchObject({ code: 0, stdout: 'Flushed the pool large.\n' });
  const cleared = JSON.parse((await cli(['pools', 'update', 'large', '--profile', '', '--json'])).stdout);
  expect(cleared.browser_pool_config.profile).toBeUndefined();
  expect(await cli(['pools', 'delete', 'large'])).toMatchObject({ code: 2, stderr: expect.stringContaining('confirm with --yes') });
  expect(await cli(['pools', 'delete', 'large', '--yes'])).toMatchObject({ code: 1, stderr: expect.stringContaining('409') });
  expect(await cli(['pools', 'delete', 'large', '--force', '--yes'])).toMatchObject({ code: 0, stdout: 'Deleted the pool large.\n' });
  expect(JSON.parse((await cli(['pools', 'list', '--json'])).stdout)).toEqual([]);
});

test('mistakes with pools are explained', async ({ cli }) => {
  expect(await cli(['pools', 'create', 'ci', '--size', 'many'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('whole number'),
  });
  for (const args of [
    ['update', 'none', '--size', '2'],
    ['flush', 'none'],
  ]) {
    expect(await cli(['pools', ...args])).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('none') });
  }
  expect(await cli(['pools', 'create'])).toMatchObject({ code: 2, stderr: expect.stringContaining('--help says more') });
});

test('a session is listed without its links, shown by its link, and ended', async ({ cli, service }) => {
  expect(await cli(['sessions', 'list'])).toMatchObject({ code: 0, stdout: 'There are no browser sessions.\n' });
  const { body } = await service.call('POST', '/browsers', { name: 'checkout' });
  const { stdout } = await cli(['sessions', 'list']);
  expect(stdout).toMatch(/^ID +NAME +POOL +PROFILE +CREATED +ENDED\n\w+ +checkout /);
  const listed = await cli(['sessions', 'list', '--json']);
  expect(JSON.parse(listed.stdout)).toMatchObject([{ session_id: body.session_id, name: 'checkout' }]);
  expect(listed.stdout).not.toContain('jwt=');
  expect(listed.stdout).not.toContain('token=');

  const link = await cli(['sessions', 'open', 'checkout', '--print', '--read-only']);
  expect(link).toEqual({ code: 0, stdout: `${body.browser_live_view_url}&readOnly=true\n`, stderr: '' });
  expect((await fetch(link.stdout.trim())).status).toBe(200);

  expect(await cli(['sessions', 'open', 'checkout'], { env: { PATH: '' } })).toMatchObject({
    code: 0,
    stdout: `${body.browser_live_view_url}\n`,
  });
  await service.call('POST', '/browsers', { name: 'payment' });
  expect(await cli(['sessions', 'kill', 'checkout', 'payment'])).toMatchObject({
    code: 0,
    stdout: 'Ended checkout.\nEnded payment.\n',
  });
  expect(await cli(['sessions', 'kill', 'checkout'])).toMatchObject({ code: 1, stderr: expect.stringContaining('checkout') });
  expect((await cli(['sessions', 'list', '--status', 'deleted'])).stdout).toContain('checkout');
});

test('a session is listed with its pool and profile, and has no link where the service offers no live view', async ({ answering, cli }) => {
  const [first, second] = [
    { session_id: 'first', created_at: 'now', pool: { id: 'p', name: 'ci' }, profile: { id: 'q', name: 'ann' } },
    { session_id: 'second', created_at: 'now', pool: { id: 'p' } },
  ];
  const env = await answering(({ url }, response) => {
    const body = url!.startsWith('/browsers/') ? first : [first, second];
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body));
  });
  expect((await cli(['sessions', 'list'], { env })).stdout.split('\n').slice(1)).toEqual([
    'first         ci    ann      now',
    'second        p              now',
    '',
  ]);
  const stderr = 'playwright-pool: the service offers no live view of first\n';
  expect(await cli(['sessions', 'open', 'first', '--print'], { env })).toEqual({ code: 1, stdout: '', stderr });
});
