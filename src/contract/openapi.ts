import { z } from 'zod';
import { errorObject, netFailure } from './error-object.ts';
import { errorStatus } from './errors.ts';
import {
  type DeprecatedOperation,
  errorsOf,
  hasOpenBody,
  type Multipart,
  type Octets,
  type Operation,
  operationsOf,
  type OperationTree,
  pathParameterNames,
  type ResponseKind,
} from './operation.ts';
import { limitHeaders, pageHeaders } from './headers.ts';

type Schema = z.core.JSONSchema.BaseSchema;
type Content = {
  [mediaType: string]: { schema?: Schema; encoding?: { [field: string]: { style: 'deepObject'; explode: boolean } } };
};

export type OpenAPIParameter = {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description?: string;
  style?: 'deepObject' | 'form';
  explode?: boolean;
  schema: Schema;
};

export type OpenAPIResponse = {
  description: string;
  headers?: { [name: string]: { description: string; schema: Schema } };
  content?: Content;
};

export type OpenAPIOperation = {
  operationId: string;
  summary: string;
  tags: string[];
  deprecated?: true;
  /** Empty if the operation needs no key. */
  security?: [];
  parameters: OpenAPIParameter[];
  requestBody?: { required: boolean; content: Content };
  responses: { [status: string]: OpenAPIResponse };
};

export type OpenAPIDocument = {
  openapi: '3.1.0';
  info: { title: string; version: string };
  security: { [scheme: string]: string[] }[];
  paths: { [path: string]: { [method: string]: OpenAPIOperation } };
  components: {
    securitySchemes: { [name: string]: { type: 'http'; scheme: 'bearer' } };
    schemas: { [name: string]: Schema };
  };
};

/**
 * Creates the OpenAPI 3.1 document of a contract. The id of an operation is its dotted name. Its tag is the part before the
 * last dot.
 */
export function openapi(contract: OperationTree, info: { title: string; version: string }): OpenAPIDocument {
  const paths: OpenAPIDocument['paths'] = {};
  for (const [name, operation] of operationsOf(contract)) {
    (paths[operation.path] ??= {})[operation.method.toLowerCase()] = describeOperation(name, operation);
  }
  return {
    openapi: '3.1.0',
    info: { title: info.title, version: info.version },
    security: [{ bearer: [] }],
    paths,
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      schemas: { Error: jsonSchema(errorObject, 'output') },
    },
  };
}

function describeOperation(name: string, operation: Operation | DeprecatedOperation): OpenAPIOperation {
  const { summary, path, query, scope } = operation;
  return {
    operationId: name,
    summary,
    tags: [name.slice(0, Math.max(0, name.lastIndexOf('.')))],
    ...(scope === 'none' && { security: [] }),
    ...('deprecated' in operation && { deprecated: true }),
    parameters: [
      ...pathParameterNames(path).map(pathParameter),
      ...(query ? queryParameters(query) : []),
      ...(scope === undefined ? [projectParameter] : []),
    ],
    ...(operation.body && { requestBody: requestBody(operation, operation.body) }),
    responses: { ...successes(operation), ...failures(operation) },
  };
}

const projectParameter: OpenAPIParameter = {
  name: 'X-Kernel-Project-Id',
  in: 'header',
  required: false,
  description: "Id of the project. Default: the key's project, else the organization's default project",
  schema: { type: 'string' },
};

function pathParameter(name: string): OpenAPIParameter {
  return { name, in: 'path', required: true, schema: { type: 'string' } };
}

function queryParameters(query: z.ZodObject): OpenAPIParameter[] {
  const { properties = {}, required = [] } = jsonSchema(query, 'input');
  return Object.entries(properties).map(([name, schema]) =>
    queryParameter(name, required.includes(name), schema as Schema),
  );
}

function queryParameter(name: string, required: boolean, { description, ...schema }: Schema): OpenAPIParameter {
  return { name, in: 'query', required, description, ...serialization(schema), schema };
}

/** Lists are one parameter, joined by commas; objects have brackets: `tags[team]=a`. */
function serialization({ type }: Schema): Pick<OpenAPIParameter, 'style' | 'explode'> {
  if (type === 'object') return { style: 'deepObject', explode: true };
  if (type === 'array') return { style: 'form', explode: false };
  return {};
}

function requestBody(
  operation: Operation,
  body: NonNullable<Operation['body']>,
): NonNullable<OpenAPIOperation['requestBody']> {
  const isOpen = hasOpenBody(operation);
  if (!('kind' in body))
    return { required: !body.safeParse(undefined).success, content: jsonContent(inputSchema(body, isOpen)) };
  return {
    required: true,
    content: body.kind === 'octets' ? { [body.mediaType]: {} } : multipartContent(body, isOpen),
  };
}

/** Lists and objects have brackets: `files[0][dest_path]`. */
function multipartContent({ schema: fields }: Multipart, isOpen: boolean): Content {
  const schema = inputSchema(fields, isOpen);
  const nested = Object.keys(schema.properties ?? {}).filter((name) => isNested(schema.properties![name] as Schema));
  const encoding = Object.fromEntries(nested.map((name) => [name, { style: 'deepObject', explode: true } as const]));
  return { 'multipart/form-data': { schema, ...(nested.length > 0 && { encoding }) } };
}

function isNested({ type }: Schema): boolean {
  return type === 'array' || type === 'object';
}

function successes({ responses }: Operation): OpenAPIOperation['responses'] {
  return Object.fromEntries(Object.entries(responses).map(([status, kind]) => [status, success(kind)]));
}

function success(kind: ResponseKind): OpenAPIResponse {
  if (kind.kind === 'empty') return { description: 'Success, without a body' };
  if (kind.kind === 'octets')
    return { description: 'Raw bytes', ...describeHeaders(kind.headers), content: { [kind.mediaType]: {} } };
  if (kind.kind === 'events') {
    const content = { 'text/event-stream': { schema: jsonSchema(kind.event, 'output') } };
    return { description: 'A stream of events; the data of each is JSON', content };
  }
  if (kind.kind === 'json') return { description: 'Success', content: jsonContent(jsonSchema(kind.schema, 'output')) };
  const schema: Schema = { type: 'array', items: jsonSchema(kind.item, 'output') };
  const headers = kind.kind === 'list' ? pagingHeaders : tokenHeaders;
  return { description: 'One page of the list', headers, content: jsonContent(schema) };
}

function describeHeaders(headers: Octets['headers']): Pick<OpenAPIResponse, 'headers'> {
  if (!headers) return {};
  const described = Object.entries(headers).map(
    ([name, description]) => [name, { description, schema: { type: 'string' } }] as const,
  );
  return { headers: Object.fromEntries(described) };
}

const pagingHeaders: NonNullable<OpenAPIResponse['headers']> = {
  [pageHeaders.hasMore]: { description: 'Whether another page follows', schema: { type: 'boolean' } },
  [pageHeaders.nextOffset]: {
    description: "Index of the next page's first item, 0 on the last page",
    schema: { type: 'integer', minimum: 0 },
  },
  [pageHeaders.limit]: { description: 'The page size', schema: { type: 'integer', minimum: 1 } },
  [pageHeaders.offset]: { description: "Index of the page's first item", schema: { type: 'integer', minimum: 0 } },
};

const tokenHeaders: NonNullable<OpenAPIResponse['headers']> = {
  [pageHeaders.hasMore]: pagingHeaders[pageHeaders.hasMore]!,
  [pageHeaders.limit]: pagingHeaders[pageHeaders.limit]!,
  [pageHeaders.nextPageToken]: {
    description: 'The token of the next page; missing on the last page',
    schema: { type: 'string' },
  },
};

function failures(operation: Operation): OpenAPIOperation['responses'] {
  return Object.fromEntries(errorsOf(operation).map((status) => [status, failure(status)]));
}

function failure(status: number): OpenAPIResponse {
  const codes = Object.entries(errorStatus).flatMap(([code, itsStatus]) => (itsStatus === status ? [code] : []));
  const schema = status === errorStatus.request_failed ? jsonSchema(netFailure, 'output') : errorReference;
  const error = { description: codes.join(', '), content: jsonContent(schema) };
  return status === errorStatus.rate_limited ? { ...error, headers: refusalHeaders } : error;
}

const errorReference: Schema = { $ref: '#/components/schemas/Error' };

const refusalHeaders: NonNullable<OpenAPIResponse['headers']> = {
  [limitHeaders.retryAfter]: {
    description: 'Seconds until a retry may succeed',
    schema: { type: 'integer', minimum: 0 },
  },
  [limitHeaders.limit]: { description: 'Maximum number at the same time', schema: { type: 'integer', minimum: 0 } },
  [limitHeaders.remaining]: { description: 'How many more may be added now', schema: { type: 'integer', minimum: 0 } },
};

function jsonContent(schema: Schema): Content {
  return { 'application/json': { schema } };
}

/** The JSON schema of a body. The contract's schemas refuse unknown fields, but an open body may have them. */
function inputSchema(schema: z.ZodType, isOpen: boolean): Schema {
  return jsonSchema(schema, 'input', ({ jsonSchema: described }) => {
    if (isOpen && described.additionalProperties === false) delete described.additionalProperties;
  });
}

type Override = (context: { jsonSchema: Schema }) => void;

function jsonSchema(schema: z.ZodType, io: 'input' | 'output', override: Override = () => {}): Schema {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any', override });
  return rest;
}
