import { z } from 'zod';
import { contract } from '../../src/contract/contract.ts';
import { errorStatus } from '../../src/contract/errors.ts';
import { errorsOf, octets, operation, operationsOf } from '../../src/contract/operation.ts';
import { openapi, type OpenAPIOperation, type OpenAPIParameter } from '../../src/contract/openapi.ts';
import { expect, test } from '../support/worker.ts';

const document = openapi(contract, { title: 'playwright-pool', version: '1.2.3' });
const operations = Array.from(operationsOf(contract));
const described = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, description]) => ({ path, method, description })),
);

function describedAs(operationId: string): OpenAPIOperation {
  return described.find(({ description }) => description.operationId === operationId)!.description;
}

function parameter(operationId: string, name: string): OpenAPIParameter | undefined {
  return describedAs(operationId).parameters.find((parameter) => parameter.name === name);
}

test('the OpenAPI document has title, version and the bearer scheme that every operation needs', () => {
  expect(document).toMatchObject({
    openapi: '3.1.0',
    info: { title: 'playwright-pool', version: '1.2.3' },
    security: [{ bearer: [] }],
    components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
  });
});

test('the OpenAPI document describes every operation once, under its dotted name', () => {
  const expected = operations.map(([name, { method, path, summary }]) => `${name}: ${method} ${path}, ${summary}`);
  const actual = described.map(
    ({ path, method, description }) =>
      `${description.operationId}: ${method.toUpperCase()} ${path}, ${description.summary}`,
  );
  expect(actual.toSorted()).toEqual(expected.toSorted());
});

test('the OpenAPI document is the same after JSON.stringify and JSON.parse, and every $ref has a target', () => {
  const text = JSON.stringify(document);
  expect(JSON.parse(text)).toEqual(document);
  expect(new Set(text.match(/"\$ref":"[^"]*"/g))).toEqual(new Set(['"$ref":"#/components/schemas/Error"']));
  expect(document.components.schemas).toHaveProperty('Error');
});

// One `expect` for all operations or answers, because each call takes a millisecond.
test('the OpenAPI document describes each path parameter, and no parameter twice', () => {
  const faulty = described.filter(({ path, description: { parameters } }) => {
    const inPath = parameters.filter((each) => each.in === 'path');
    const required = inPath.map(({ name, required }) => (required ? `{${name}}` : name));
    const isUnique = new Set(parameters.map(({ name }) => name)).size === parameters.length;
    return String(required) !== String(path.match(/\{\w+\}/g) ?? []) || !isUnique;
  });
  expect(faulty).toEqual([]);
});

test('every answer has a description, every body a media type, and 204 has no body', () => {
  const faults = described.flatMap(({ description: { operationId, responses, requestBody } }) => {
    const statuses = Object.keys(responses);
    const faulty = Object.entries(responses).filter(
      ([status, { description, content }]) =>
        !/^[2-5]\d\d$/.test(status) || description === '' || (status === '204' && content !== undefined),
    );
    const found = faulty.map(([status]) => `${operationId} ${status}`);
    if (!statuses.some((status) => status.startsWith('2'))) found.push(`${operationId} has no success`);
    if (requestBody && Object.keys(requestBody.content).length !== 1) found.push(`${operationId} has no media type`);
    return found;
  });
  expect(faults).toEqual([]);
});

test('zod can read every schema of the OpenAPI document', () => {
  expect(() => Array.from(schemasOf(document), (schema) => z.fromJSONSchema(schema))).not.toThrow();
});

test('every operation lists its own and the common error statuses, with error object and codes', () => {
  const error = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };
  const found = operations.map(([name]) => {
    const errors = Object.entries(describedAs(name).responses).filter(([status]) => Number(status) >= 400);
    return [name, Object.fromEntries(errors.map(([status, { content }]) => [status, content]))];
  });
  // A request through the browser that got no answer has Chromium's error instead.
  const contentOf = (status: number) =>
    status === 502 ? { 'application/json': { schema: expect.anything() } } : error;
  const expected = operations.map(([name, operation]) => [
    name,
    Object.fromEntries(errorsOf(operation).map((status) => [String(status), contentOf(status)])),
  ]);
  expect(found).toEqual(expected);
  const codes = operations.flatMap(([name]) =>
    Object.entries(describedAs(name).responses).flatMap(([status, { description }]) =>
      Number(status) < 400 ? [] : description.split(', ').map((code) => `${code} ${status}`),
    ),
  );
  const known = new Set(Object.entries(errorStatus).map(([code, status]) => `${code} ${status}`));
  expect(codes.filter((code) => !known.has(code))).toEqual([]);
});

test('queries of lists have their defaults and bounds, and tags are written with brackets', () => {
  for (const [operation, name, expected] of [
    ['browsers.list', 'limit', { in: 'query', required: false, schema: { minimum: 1, maximum: 100, default: 20 } }],
    ['browsers.list', 'status', { schema: { enum: ['active', 'deleted', 'all'], default: 'active' } }],
    ['browsers.list', 'tags', { style: 'deepObject', explode: true, schema: { type: 'object' } }],
    ['browsers.fs.writeFile', 'path', { required: true, schema: { type: 'string' } }],
    ['browsers.fs.writeFile', 'mode', { required: false, schema: { default: '644', pattern: '^[0-7]{3,4}$' } }],
  ] as const)
    expect(parameter(operation, name), `${operation} ${name}`).toMatchObject(expected);
});

test('a list in a query is written with commas', () => {
  const query = z.strictObject({ exclude: z.array(z.string()) });
  const list = operation('GET /x', 'x', { query, responses: { 200: octets() } });
  const { parameters } = openapi({ list }, { title: 'x', version: '1' }).paths['/x']!['get']!;
  expect(parameters[0]).toMatchObject({ name: 'exclude', required: true, style: 'form', explode: false });
});

test('operations of a project take the project header, operations of the organization do not', () => {
  const header = { in: 'header', required: false, schema: { type: 'string' } };
  const found = operations.map(([name]) => [name, parameter(name, 'X-Kernel-Project-Id')]);
  expect(found).toEqual(
    operations.map(([name, { scope }]) => [name, scope === undefined ? expect.objectContaining(header) : undefined]),
  );
});

test('renamed paths are deprecated, and list 410 among their answers', () => {
  const former = operations.filter(([, operation]) => 'deprecated' in operation).map(([name]) => name);
  expect(namesWith(({ deprecated }) => deprecated === true)).toEqual(former.toSorted());
  // Codes of logins are gone too, once they were used.
  const gone = [...former, 'auth.connections.exchange'].toSorted();
  expect(namesWith(({ responses }) => '410' in responses)).toEqual(gone);
  expect(describedAs('projects.deprecated.retrieve').summary).toBe(describedAs('projects.retrieve').summary);
});

test('answers with a list declare the paging headers, and those that report a limit its headers', () => {
  const answer = describedAs('profiles.list').responses['200']!;
  expect(Object.keys(answer.headers!)).toEqual(['X-Has-More', 'X-Next-Offset', 'X-Limit', 'X-Offset']);
  expect(answer.content!['application/json']!.schema).toMatchObject({ type: 'array', items: { type: 'object' } });
  const { responses } = describedAs('browsers.create');
  const limits = ['Retry-After', 'X-RateLimit-Limit', 'X-RateLimit-Remaining'];
  expect(Object.keys(responses['429']!.headers!)).toEqual(limits);
  expect(responses['409']).not.toHaveProperty('headers');
});

test('bodies are described before defaults are filled in, and answers after that', () => {
  expect(describedAs('browserPools.acquire').requestBody!.required).toBe(false);
  expect(describedAs('browserPools.release').requestBody!.required).toBe(true);
  expect(bodySchemaOf('browserPools.release')).toMatchObject({ required: ['session_id'] });
  const { content } = describedAs('browsers.retrieve').responses['200']!;
  expect(content!['application/json']!.schema!.required).toContain('session_id');
});

test("bodies forbid unknown fields exactly where the hosted service's document does", () => {
  for (const name of ['browsers.computer.clickMouse', 'credentials.create', 'auth.connections.update'])
    expect(bodySchemaOf(name).additionalProperties, name).toBe(false);
  for (const name of ['browsers.create', 'browserPools.release', 'proxies.create', 'projects.limits.update'])
    expect(JSON.stringify(bodySchemaOf(name)), name).not.toContain('"additionalProperties":false');
});

test('bodies of raw bytes have a media type and no schema, and event streams the schema of one event', () => {
  const raw = { 'application/octet-stream': {} };
  expect(describedAs('browsers.fs.writeFile').requestBody).toEqual({ required: true, content: raw });
  expect(describedAs('browsers.fs.readFile').responses['200']!.content).toEqual(raw);
  const schema = { properties: { path: { type: 'string' } }, required: ['type', 'path'] };
  const { content } = describedAs('browsers.fs.watch.events').responses['200']!;
  expect(content).toMatchObject({ 'text/event-stream': { schema } });
});

test('form bodies have a schema with binary files and bracketed lists', () => {
  const file = { type: 'string', format: 'binary' };
  const items = { properties: { file }, required: ['dest_path', 'file'] };
  const { required, content: upload } = describedAs('browsers.fs.upload').requestBody!;
  expect(required).toBe(true);
  expect(upload['multipart/form-data']).toMatchObject({
    schema: { properties: { files: { type: 'array', minItems: 1, items } } },
    encoding: { files: { style: 'deepObject', explode: true } },
  });
  const { content } = describedAs('browsers.fs.uploadZip').requestBody!;
  expect(content['multipart/form-data']).toMatchObject({
    schema: { properties: { zip_file: file }, additionalProperties: false },
  });
  expect(content['multipart/form-data']).not.toHaveProperty('encoding');
});

function namesWith(property: (operation: OpenAPIOperation) => boolean): string[] {
  const found = described.filter(({ description }) => property(description));
  return found.map(({ description }) => description.operationId).toSorted();
}

function bodySchemaOf(name: string) {
  return describedAs(name).requestBody!.content['application/json']!.schema!;
}

function* schemasOf(value: unknown): Generator<Parameters<typeof z.fromJSONSchema>[0]> {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, item] of Object.entries(value)) {
    if (key === 'schema' && !('$ref' in item)) yield item;
    else yield* schemasOf(item);
  }
}
