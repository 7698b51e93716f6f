import { z } from 'zod';
import { contract } from '../../src/contract/contract.ts';
import { commonErrors, errorStatus, OperationError } from '../../src/contract/errors.ts';
import { errorsOf, operationsOf, pathParameterNames, type Operation } from '../../src/contract/operation.ts';
import { pageQuery } from '../../src/contract/values.ts';
import { expect, test } from '../support/worker.ts';

const operations = Array.from(operationsOf(contract));
const statuses = new Set<number>(Object.values(errorStatus));

test('each operation has a name of its own and a pair of method and path of its own', () => {
  expect(isUnique(operations.map(([name]) => name))).toBe(true);
  const routes = operations.map(([, { method, path }]) => `${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`);
  expect(isUnique(routes)).toBe(true);
});

test("paths begin with a slash, don't end with one, and have parameters only as whole segments", () => {
  expectOfAll(({ path }) => /^(\/([a-z_-]+|\{[a-z_]+\}))+$/.test(path));
});

test('no path parameter has the name of a query parameter', () => {
  expectOfAll(({ path, query }) => isUnique([...pathParameterNames(path), ...Object.keys(query?.shape ?? {})]));
});

test('every error status has an error code, and is listed once', () => {
  expect(commonErrors.filter((status) => !statuses.has(status))).toEqual([]);
  expectOfAll(({ errors = [] }) => errors.every((status) => statuses.has(status)));
  expectOfAll((operation) => isUnique([...errorsOf({ ...operation, errors: [] }), ...(operation.errors ?? [])]));
});

test('operations on a named resource declare the status 404', () => {
  expectOfAll((operation) => !operation.path.includes('{') || errorsOf(operation).includes(404));
});

test('every operation has a success status, and GET operations have no body', () => {
  expectOfAll(({ responses }) => Object.keys(responses).length > 0);
  expectOfAll(({ responses }) => Object.keys(responses).every((status) => Number(status) < 300));
  expectOfAll(({ method, body }) => method !== 'GET' || body === undefined);
});

const isList = ({ responses }: Operation) => Object.values(responses).some(({ kind }) => kind === 'list');
const isPaged = ({ query }: Operation) => Object.keys(pageQuery.shape).every((name) => name in (query?.shape ?? {}));

test('every list takes a page size and an offset', () => {
  expectOfAll((operation) => !isList(operation) || isPaged(operation));
});

test('bodies and queries refuse unknown fields', () => {
  expectOfAll(({ body, query }) =>
    [body && 'schema' in body ? body.schema : body, query]
      .filter((schema) => schema instanceof z.ZodType)
      // Where there are several types, unknown fields are those of one of them.
      .map((schema) => schema.safeParse({ type: 'custom', no_such_field: 1 }).error?.issues ?? [])
      .every((issues) => issues.some(({ code }) => code === 'unrecognized_keys')),
  );
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
  const session = { timeout_seconds: 60, stealth: false, kiosk_mode: false };
  expect(browsers.create.body.parse(undefined)).toMatchObject(session);
  const pool = { timeout_seconds: 600, fill_rate_per_minute: 25 };
  expect(browserPools.create.body.parse({ size: 1 })).toMatchObject(pool);
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

/** Expects this of each operation. One `expect` for all, because each call takes a millisecond. */
function expectOfAll(isRight: (operation: Operation) => boolean): void {
  expect(operations.filter(([, operation]) => !isRight(operation)).map(([name]) => name)).toEqual([]);
}

function isUnique(values: unknown[]): boolean {
  return new Set(values).size === values.length;
}
