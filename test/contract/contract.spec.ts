import { expect, test } from '@playwright/test';
import { z } from 'zod';
import { contract } from '../../src/contract/contract.ts';
import { commonErrors, errorStatus, OperationError } from '../../src/contract/errors.ts';
import { errorsOf, operationsOf, pathParameterNames } from '../../src/contract/operation.ts';
import { pageQuery } from '../../src/contract/pagination.ts';

const operations = Array.from(operationsOf(contract));
const statuses = new Set<number>(Object.values(errorStatus));

test('each operation has a name of its own and a pair of method and path of its own', () => {
  const names = operations.map(([name]) => name);
  const routes = operations.map(([, { method, path }]) => withoutNames(`${method} ${path}`));
  expect(new Set(names).size).toBe(names.length);
  expect(new Set(routes).size).toBe(routes.length);
});

test("paths begin with a slash, don't end with one, and have parameters only as whole segments", () => {
  for (const [name, { path }] of operations) expect(path, name).toMatch(/^(\/([a-z_-]+|\{[a-z_]+\}))+$/);
});

test('no path parameter has the name of a query parameter', () => {
  for (const [name, { path, query }] of operations) {
    const names = [...pathParameterNames(path), ...Object.keys(query?.shape ?? {})];
    expect(new Set(names).size, name).toBe(names.length);
  }
});

test('every error status has an error code, and is listed once', () => {
  for (const status of commonErrors) expect(statuses).toContain(status);
  for (const [name, operation] of operations) {
    const { errors = [] } = operation;
    for (const status of errors) expect(statuses, name).toContain(status);
    const all = [...errorsOf({ ...operation, errors: [] }), ...errors];
    expect(new Set(all).size, name).toBe(all.length);
  }
});

test('operations on a named resource declare the status 404', () => {
  for (const [name, operation] of operations)
    if (operation.path.includes('{')) expect(errorsOf(operation), name).toContain(404);
});

test('every operation has a success status, and GET operations have no body', () => {
  for (const [name, { method, responses, body }] of operations) {
    const successes = Object.keys(responses).map(Number);
    expect(successes.length, name).toBeGreaterThan(0);
    for (const status of successes) expect(status).toBeLessThan(300);
    if (method === 'GET') expect(body, name).toBeUndefined();
  }
});

test('every list takes a page size and an offset', () => {
  for (const [name, { responses, query }] of operations) {
    if (!Object.values(responses).some((response) => response.kind === 'list')) continue;
    expect(Object.keys(query?.shape ?? {}), name).toEqual(expect.arrayContaining(Object.keys(pageQuery.shape)));
  }
});

test('bodies and queries refuse unknown fields', () => {
  for (const [name, { body, query }] of operations) {
    for (const schema of [body && 'schema' in body ? body.schema : body, query]) {
      if (!(schema instanceof z.ZodType)) continue;
      // Where there are several types, unknown fields are those of one of them.
      const { error } = schema.safeParse({ type: 'custom', no_such_field: 1 });
      expect(error?.issues.map(({ code }) => code) ?? [], name).toContain('unrecognized_keys');
    }
  }
});

test('queries accept numbers and booleans as text, because URLs contain text', () => {
  const { query } = contract.browsers.list;
  const asked = { limit: '5', offset: '10', include_deleted: 'true' };
  expect(query.parse(asked)).toMatchObject({ limit: 5, offset: 10, include_deleted: true });
  const bad = [...['', 'x', '1.5', '0', '101'].map((limit) => ({ limit })), { include_deleted: 'yes' }];
  for (const value of bad) expect(query.safeParse(value).success, JSON.stringify(value)).toBe(false);
});

test('defaults and bounds of fields are those of the hosted service', () => {
  const { browsers, browserPools } = contract;
  const { writeFile, readFile } = browsers.fs;
  expect(browsers.create.body.parse(undefined)).toMatchObject({
    timeout_seconds: 60,
    stealth: false,
    kiosk_mode: false,
  });
  const filled = { timeout_seconds: 600, fill_rate_per_minute: 25 };
  expect(browserPools.create.body.parse({ size: 1 })).toMatchObject(filled);
  expect(browserPools.release.body.parse({ session_id: 'x' })).toEqual({ session_id: 'x', reuse: true });
  expect(writeFile.query.parse({ path: '/x' })).toEqual({ path: '/x', mode: '644' });
  const refused: [schema: z.ZodType, values: object[]][] = [
    [browsers.create.body, [9, 259_201, 10.5].map((timeout_seconds) => ({ timeout_seconds }))],
    [browsers.create.body, [{ viewport: { width: 0, height: 1 } }]],
    [browserPools.create.body, [0, -1, 1.5].map((size) => ({ size }))],
    [writeFile.query, ['9z9', '64', '00644', ''].map((mode) => ({ path: '/x', mode }))],
    [readFile.query, ['x', '', './x', '/a\0b'].map((path) => ({ path }))],
  ];
  for (const [schema, values] of refused)
    for (const value of values) expect(schema.safeParse(value).success, JSON.stringify(value)).toBe(false);
});

test('checks nothing but the length of a text above the limit, because other checks may take quadratic time', () => {
  const long = ' '.repeat(10_000);
  const connection = { profile_name: 'ann', domain: 'a.example' };
  const credential = { name: 'ann', domain: 'a.example', values: {} };
  const provider = { provider_type: 'onepassword', name: 'vault', token: 'x' };
  for (const { error } of [
    contract.auth.connections.create.body.safeParse({ ...connection, domain: long }),
    contract.auth.connections.create.body.safeParse({ ...connection, login_url: long }),
    contract.auth.connections.create.body.safeParse({ ...connection, allowed_domains: [long] }),
    contract.credentials.create.body.safeParse({ ...credential, domain: long }),
    contract.credentials.create.body.safeParse({ ...credential, totp_secret: long }),
    contract.credentialProviders.create.body.safeParse({ ...provider, address: long }),
    contract.proxies.check.body.safeParse({ url: long }),
  ])
    expect(error?.issues).toMatchObject([{ code: 'too_big' }]);
});

test("requires a form's file, but accepts any value for it", () => {
  const { schema } = contract.browsers.fs.upload.body;
  const file = { dest_path: '/a', file: 'anything' };
  expect(schema.safeParse({ files: [file] }).success).toBe(true);
  for (const wrong of [[], [{ dest_path: '/a' }], [{ ...file, dest_path: 'a' }], [{ ...file, mode: '644' }]])
    expect(schema.safeParse({ files: wrong }).success, JSON.stringify(wrong)).toBe(false);
});

test('answers accept fields that are not in the contract', () => {
  const answer = { id: 'p1', name: null, created_at: '2026-01-01T00:00:00Z', invented_later: 1 };
  expect(contract.profiles.retrieve.responses[200].schema.parse(answer)).toEqual(answer);
});

test('an OperationError has the HTTP status of its error code', () => {
  const details = [{ code: 'leased', message: 's1' }];
  const error = new OperationError('pool_in_use', 'a browser is leased', { details });
  const told = { name: 'OperationError', status: 409, code: 'pool_in_use', message: 'a browser is leased' };
  expect(error).toMatchObject({ ...told, details });
});

function withoutNames(request: string): string {
  return request.replaceAll(/\{\w+\}/g, '{}');
}
