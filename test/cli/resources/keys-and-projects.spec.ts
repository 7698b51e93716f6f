import { expect, expectFailure, printed, test } from '../commands.ts';

test('keys creates an API key that works, rotates it and deletes it', async ({ cli }) => {
  const created = await cli('keys create ci --days 90');
  expect(created).toMatchObject({ code: 0, stderr: expect.stringContaining('shown this once') });
  const key = created.stdout.trim();
  // Secrets of CI systems may end with a line break.
  const listed = await cli('keys list', { env: { PLAYWRIGHT_POOL_API_KEY: created.stdout } });
  expect(listed.stdout).toMatch(/^NAME +ID +KEY +PROJECT +CREATED +EXPIRES\nci .* \S+Z +\S+Z\n/);
  expect(listed.stdout).not.toContain(key);

  const [{ id }] = JSON.parse((await cli('keys list --json')).stdout) as [{ id: string }];
  const rotated = await cli(`keys rotate ${id} --grace 0 --json`);
  const { id: newId, key: newKey } = JSON.parse(rotated.stdout) as { id: string; key: string };
  expect(await cli('keys list', { env: { PLAYWRIGHT_POOL_API_KEY: key } })).toMatchObject({ code: 1 });
  expectFailure(await cli(`keys delete ${newId}`), 2, 'pass --yes');
  expect(await cli('keys list', { env: { PLAYWRIGHT_POOL_API_KEY: newKey } })).toMatchObject({ code: 0 });
  expect(printed(await cli(`keys delete ${newId} --yes`))).toBe(`Deleted the API key ${newId}.\n`);
  expect(await cli('keys list', { env: { PLAYWRIGHT_POOL_API_KEY: newKey } })).toMatchObject({ code: 1 });
});

test('keys refuses lifetimes that are no whole number of days from 1 to 3650', async ({ cli }) => {
  for (const days of ['many', '1.5', '3651', '99999'])
    expectFailure(await cli(`keys create wrong --days ${days}`), 2, 'a whole number of days, 3650 at most');
  expectFailure(await cli('keys create wrong --days 0'), 2, 'at least 1');
  expect(printed(await cli('keys list'))).not.toMatch(/^wrong /m);
});

test('projects creates a project, uses it and deletes it', async ({ cli }) => {
  const { id } = JSON.parse((await cli('projects create checkout --json')).stdout) as { id: string };
  expect((await cli('projects list')).stdout).toMatch(new RegExp(`checkout +${id} +active `));
  const env = { PLAYWRIGHT_POOL_PROJECT: `${id}\n` };
  expect(await cli('pools create ci', { env })).toMatchObject({ code: 0 });
  expect((await cli('pools list')).stdout).toBe('There are no pools.\n');
  const created = await cli(`keys create checkout --project ${id} --json`);
  const key = JSON.parse(created.stdout) as { id: string; key: string };
  expect((await cli('keys list')).stdout).toMatch(/\ncheckout +\w+ +\S+ +checkout +\S+Z +never\n/);
  expect((await cli('pools list', { env: { PLAYWRIGHT_POOL_API_KEY: key.key } })).stdout).toMatch(
    /\nci +\w+ +chromium +1 /,
  );
  expectFailure(await cli(`projects delete ${id}`), 2, 'pass --yes');
  expectFailure(await cli(`projects delete ${id} --yes`), 1, 'pool');
  expect(await cli('pools delete ci --yes', { env })).toMatchObject({ code: 0 });
  expect(JSON.parse((await cli(`keys delete ${key.id} --yes --json`)).stdout)).toEqual({ deleted: key.id });
  expect(JSON.parse((await cli(`projects delete ${id} --yes --json`)).stdout)).toEqual({ deleted: id });
});
