import { expect, test } from '@playwright/test';
import { z } from 'zod';
import { contract } from '../../src/contract/contract.ts';
import { errorStatus } from '../../src/contract/errors.ts';
import { errorsOf, octets, operation, operationsOf } from '../../src/contract/operation.ts';
import { openapi, type OpenAPIOperation, type OpenAPIParameter } from '../../src/contract/openapi.ts';

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
  const expected = operations.map(
    ([name, { method, path, summary }]) => `${name}: ${method.toLowerCase()} ${path}, ${summary}`,
  );
  const actual = described.map(
    ({ path, method, description: { operationId, summary } }) => `${operationId}: ${method} ${path}, ${summary}`,
  );
  expect(actual.toSorted()).toEqual(expected.toSorted());
});

test('the OpenAPI document is the same after JSON.stringify and JSON.parse', () => {
  expect(JSON.parse(JSON.stringify(document))).toEqual(document);
});

test('every $ref of the OpenAPI document has a target', () => {
  const references = JSON.stringify(document).match(/"\$ref":"[^"]*"/g) ?? [];
  expect(new Set(references)).toEqual(new Set(['"$ref":"#/components/schemas/Error"']));
  expect(document.components.schemas).toHaveProperty('Error');
});

test('the OpenAPI document describes each path parameter, and no parameter twice', () => {
  for (const { path, description } of described) {
    const names = description.parameters.map((parameter) => parameter.name);
    expect(new Set(names).size, description.operationId).toBe(names.length);
    const inPath = description.parameters.filter((parameter) => parameter.in === 'path');
    expect(
      inPath.map(({ name }) => name),
      description.operationId,
    ).toEqual(Array.from(path.matchAll(/\{(\w+)\}/g), (match) => match[1]));
    expect(inPath.every(({ required }) => required)).toBe(true);
  }
});

test('every answer has a description, every body a media type, and 204 has no body', () => {
  for (const { description } of described) {
    expect(Object.keys(description.responses).some((status) => status.startsWith('2'))).toBe(true);
    for (const [status, response] of Object.entries(description.responses)) {
      expect(status).toMatch(/^[2-5]\d\d$/);
      expect(response.description, `${description.operationId} ${status}`).not.toBe('');
      if (status === '204') expect(response).not.toHaveProperty('content');
    }
    if (description.requestBody) expect(Object.keys(description.requestBody.content)).toHaveLength(1);
  }
});

test('zod can read every schema of the OpenAPI document', () => {
  for (const schema of schemasOf(document)) expect(() => z.fromJSONSchema(schema)).not.toThrow();
});

test('every operation lists its own and the common error statuses, with error object and codes', () => {
  for (const [name, operation] of operations) {
    const { responses } = describedAs(name);
    const statuses = Object.keys(responses).filter((status) => Number(status) >= 400);
    expect(statuses.toSorted(), name).toEqual(errorsOf(operation).map(String).toSorted());
    for (const status of statuses) {
      // A request through the browser that got no answer has Chromium's error instead.
      const schema = status === '502' ? expect.anything() : { $ref: '#/components/schemas/Error' };
      expect(responses[status]!.content).toEqual({ 'application/json': { schema } });
      for (const code of responses[status]!.description.split(', '))
        expect(errorStatus).toHaveProperty(code, Number(status));
    }
  }
});

test('queries of lists have their defaults and bounds, and tags are written with brackets', () => {
  expect(parameter('browsers.list', 'limit')).toMatchObject({
    in: 'query',
    required: false,
    schema: { minimum: 1, maximum: 100, default: 20 },
  });
  expect(parameter('browsers.list', 'status')).toMatchObject({
    schema: { enum: ['active', 'deleted', 'all'], default: 'active' },
  });
  expect(parameter('browsers.list', 'tags')).toMatchObject({
    style: 'deepObject',
    explode: true,
    schema: { type: 'object' },
  });
  expect(parameter('browsers.fs.writeFile', 'path')).toMatchObject({ required: true, schema: { type: 'string' } });
  expect(parameter('browsers.fs.writeFile', 'mode')).toMatchObject({
    required: false,
    schema: { default: '644', pattern: '^[0-7]{3,4}$' },
  });
});

test('a list in a query is written with commas', () => {
  const tree = {
    list: operation('GET /x', 'x', {
      query: z.strictObject({ exclude: z.array(z.string()) }),
      responses: { 200: octets() },
    }),
  };
  const { parameters } = openapi(tree, { title: 'x', version: '1' }).paths['/x']!['get']!;
  expect(parameters[0]).toMatchObject({ name: 'exclude', required: true, style: 'form', explode: false });
});

test('operations of a project take the project header, operations of the organization do not', () => {
  for (const [name, { scope }] of operations) {
    const chosen = parameter(name, 'X-Kernel-Project-Id');
    if (scope === undefined)
      expect(chosen, name).toMatchObject({ in: 'header', required: false, schema: { type: 'string' } });
    else expect(chosen, name).toBeUndefined();
  }
});

test('renamed paths are deprecated, and list 410 among their answers', () => {
  for (const [name, operation] of operations) {
    const { deprecated, responses } = describedAs(name);
    const isFormer = 'deprecated' in operation;
    // Codes of logins are gone too, once they were used.
    const isGone = isFormer || name === 'auth.connections.exchange';
    expect([deprecated ?? false, '410' in responses], name).toEqual([isFormer, isGone]);
  }
  expect(describedAs('projects.deprecated.retrieve').summary).toBe(describedAs('projects.retrieve').summary);
});

test('answers with a list declare the paging headers', () => {
  const answer = describedAs('profiles.list').responses['200']!;
  expect(Object.keys(answer.headers!)).toEqual(['X-Has-More', 'X-Next-Offset', 'X-Limit', 'X-Offset']);
  expect(answer.content).toMatchObject({
    'application/json': { schema: { type: 'array', items: { type: 'object' } } },
  });
});

test('answers that report a limit declare their headers', () => {
  const { responses } = describedAs('browsers.create');
  expect(Object.keys(responses['429']!.headers!)).toEqual([
    'Retry-After',
    'X-RateLimit-Limit',
    'X-RateLimit-Remaining',
  ]);
  expect(responses['409']).not.toHaveProperty('headers');
});

test('bodies are described before defaults are filled in, and answers after that', () => {
  expect(describedAs('browserPools.acquire').requestBody!.required).toBe(false);
  expect(describedAs('browserPools.release').requestBody!.required).toBe(true);
  expect(describedAs('browserPools.release').requestBody!.content['application/json']!.schema).toMatchObject({
    required: ['session_id'],
  });
  expect(describedAs('browsers.retrieve').responses['200']!.content!['application/json']!.schema!.required).toContain(
    'session_id',
  );
});

test("bodies forbid unknown fields exactly where the hosted service's document does", () => {
  for (const name of ['browsers.computer.clickMouse', 'credentials.create', 'auth.connections.update'])
    expect(bodySchemaOf(name).additionalProperties, name).toBe(false);
  for (const name of ['browsers.create', 'browserPools.release', 'proxies.create', 'projects.limits.update'])
    expect(JSON.stringify(bodySchemaOf(name)), name).not.toContain('"additionalProperties":false');
});

test('bodies of raw bytes have a media type and no schema', () => {
  expect(describedAs('browsers.fs.writeFile').requestBody).toEqual({
    required: true,
    content: { 'application/octet-stream': {} },
  });
  expect(describedAs('browsers.fs.readFile').responses['200']!.content).toEqual({ 'application/octet-stream': {} });
});

test('form bodies have a schema with binary files and bracketed lists', () => {
  const file = { type: 'string', format: 'binary' };
  expect(describedAs('browsers.fs.upload').requestBody).toMatchObject({
    required: true,
    content: {
      'multipart/form-data': {
        schema: {
          properties: {
            files: { type: 'array', minItems: 1, items: { properties: { file }, required: ['dest_path', 'file'] } },
          },
        },
        encoding: { files: { style: 'deepObject', explode: true } },
      },
    },
  });
  const { content } = describedAs('browsers.fs.uploadZip').requestBody!;
  expect(content['multipart/form-data']).toMatchObject({
    schema: { properties: { zip_file: file }, additionalProperties: false },
  });
  expect(content['multipart/form-data']).not.toHaveProperty('encoding');
});

test('event streams are described by the schema of one event', () => {
  const { content } = describedAs('browsers.fs.watch.events').responses['200']!;
  expect(content).toMatchObject({
    'text/event-stream': { schema: { properties: { path: { type: 'string' } }, required: ['type', 'path'] } },
  });
});

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
