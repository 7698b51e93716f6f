import { expect } from '@playwright/test';
import { z } from 'zod';
import { contract } from '../../../src/contract/contract.ts';
import { hasOpenBody } from '../../../src/contract/open-bodies.ts';
import { operationsOf } from '../../../src/contract/operation.ts';
import { parseKnown } from '../../../src/service/http/requests/unknown-fields.ts';
import { test } from '../../support/service/service.ts';

test('ignores or refuses unknown fields as the hosted service does', async ({ service: { call } }) => {
  const { status, body } = await call('POST', '/browsers', {
    memory: '8g',
    region: 'eu',
    viewport: { width: 400, height: 300, depth: 24 },
    profile: { name: 'ann', region: 'eu' },
    network: { private_hosts: ['10.0.0.1'] },
    telemetry: { enabled: false, export: { otlp: { endpoint: 'https://a.example' } } },
  });
  // The wrong value of a known field still counts.
  expect([status, body.message]).toEqual([400, expect.stringContaining('profile: ')]);
  const created = await call('POST', '/browsers', { memory: '8g', viewport: { width: 400, height: 300, depth: 24 } });
  expect(created).toMatchObject({ status: 200, body: { viewport: { width: 400, height: 300 } } });
  expect(created.body).not.toHaveProperty('memory');
  expect(created.body.viewport).not.toHaveProperty('depth');
  expect((await call('GET', '/browsers?state=active&tag[a]=b&limit=1')).body).toHaveLength(1);
  const pool = await call('POST', '/browser_pools', { size: 1, name: 'ci', region: 'eu' });
  expect(pool.status).toBe(201);
  expect(pool.body.browser_pool_config).not.toHaveProperty('region');
  const leased = await call('POST', '/browser_pools/ci/acquire', { priority: 1 });
  expect(leased.status).toBe(200);
  const release = { session_id: leased.body.session_id, reason: 'done' };
  expect((await call('POST', '/browser_pools/ci/release', release)).status).toBe(204);

  // The hosted service refuses them in these bodies.
  const refused = { status: 400, body: { details: [{ code: 'invalid_input', message: 'region: unknown field' }] } };
  for (const [path, fields] of Object.entries({
    '/credentials': { name: 'a', domain: 'a.example', values: {} },
    '/org/credential_providers': { name: 'a', provider_type: 'onepassword', token: 'x' },
    '/auth/connections': { domain: 'a.example', profile_name: 'ann' },
  }))
    expect(await call('POST', path, { ...fields, region: 'eu' }), path).toMatchObject(refused);
});

test('drops unknown fields of every other body, and keeps its known ones', () => {
  for (const [name, operation] of operationsOf(contract)) {
    if (!hasOpenBody(operation) || !operation.body) continue;
    const schema = 'schema' in operation.body ? operation.body.schema : operation.body;
    if (!(schema instanceof z.ZodType)) continue;
    const { error } = parseKnown(schema, { type: 'custom', no_such_field: 1 });
    expect(error?.issues.map(({ code }) => code) ?? [], name).not.toContain('unrecognized_keys');
  }
});
