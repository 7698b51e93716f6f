import * as fc from 'fast-check';
import { z } from 'zod';
import type { Multipart, Operation } from '../../../src/contract/operation.ts';
import { encoded, type Part } from '../../support/service/uploads.ts';
import { damaged, hostilePath, hostileText, hostileValue, words } from './hostile-values.ts';

/** A request to send. `known` in a path stands for the id of an existing thing. */
export type FuzzedRequest = {
  /** The dotted name of its operation. */
  name: string;
  method: string;
  path: string;
  headers: Record<string, string | string[]>;
  body: Uint8Array | undefined;
  /** Whether the body has the contract's shape. */
  isValid: boolean;
};

/** Stands for an existing id in a path. The collection's name comes before it. */
export const known = '{known}';

type Schema = z.core.JSONSchema.BaseSchema;

/** Requests for an operation: valid ones, some with hostile values, and damaged ones. */
export function requestsFor(name: string, operation: Operation, canary: string): fc.Arbitrary<FuzzedRequest> {
  const values = new Values(canary);
  return fc
    .record({
      path: pathOf(operation),
      query: queryOf(operation, values),
      sent: bodyOf(operation, values),
      method: mostly(operation.method, fc.constantFrom(...words('GET HEAD POST PUT PATCH DELETE OPTIONS TRACE BREW'))),
      headers: oddHeaders,
    })
    .map(({ path, query, sent, method, headers }) => ({
      name,
      method: method === 'BREW' ? 'PROPFIND' : method,
      path: query === '' ? path : `${path}?${query}`,
      headers: { ...sent.headers, ...headers },
      body: sent.body,
      isValid: sent.isValid,
    }));
}

type Sent = { headers: Record<string, string>; body: Uint8Array | undefined; isValid: boolean };

/** Values that fit a schema. Some of their parts are hostile. */
class Values {
  readonly #path: fc.Arbitrary<string>;

  constructor(canary: string) {
    this.#path = hostilePath(canary);
  }

  of(schema: z.ZodType): fc.Arbitrary<unknown> {
    return this.#of(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }));
  }

  #of(schema: Schema): fc.Arbitrary<unknown> {
    return fc.oneof({ weight: 20, arbitrary: this.#fitting(schema) }, { weight: 1, arbitrary: hostileValue });
  }

  #fitting(schema: Schema): fc.Arbitrary<unknown> {
    if (schema.const !== undefined) return fc.constant(schema.const);
    if (schema.enum) return fc.constantFrom(...schema.enum);
    const alternatives = schema.anyOf ?? schema.oneOf;
    if (alternatives) return fc.oneof(...alternatives.map((one) => this.#of(one)));
    if (schema.type === 'string') return this.#text(schema);
    if (schema.type === 'integer' || schema.type === 'number') return numbers(schema);
    if (schema.type === 'boolean') return fc.boolean();
    if (schema.type === 'null') return fc.constant(null);
    if (schema.type === 'array') return this.#list(schema);
    if (schema.type === 'object') return this.#object(schema);
    return hostileValue;
  }

  #text({ pattern, minLength = 0, maxLength = 1000 }: Schema): fc.Arbitrary<string> {
    if (pattern?.startsWith('^\\/')) return this.#path;
    const fitting =
      pattern === undefined
        ? fc.string({ minLength, maxLength: Math.min(maxLength, minLength + 20) })
        : matching(pattern);
    return fc.oneof({ weight: 3, arbitrary: fitting }, { weight: 1, arbitrary: hostileText });
  }

  #list({ items, prefixItems, minItems = 0, maxItems = 1000 }: Schema): fc.Arbitrary<unknown> {
    if (prefixItems) return fc.tuple(...(prefixItems as Schema[]).map((item) => this.#of(item)));
    return fc.array(this.#of((items ?? {}) as Schema), {
      minLength: minItems,
      maxLength: Math.min(maxItems, minItems + 4),
    });
  }

  #object({ properties = {}, required = [], additionalProperties }: Schema): fc.Arbitrary<unknown> {
    const fields = Object.fromEntries(
      Object.entries(properties).map(([key, value]) => [key, this.#of(value as Schema)]),
    );
    const own = fc.record(fields, { requiredKeys: required, noNullPrototype: true });
    if (typeof additionalProperties !== 'object')
      return mostly(own, fc.tuple(own, hostileText, hostileValue).map(withField));
    return fc.dictionary(hostileText, this.#of(additionalProperties), { maxKeys: 4, noNullPrototype: true });
  }
}

function withField([value, key, field]: [object, string, unknown]): object {
  return { ...value, [key]: field };
}

/** Values at and near the limits. Near upper limits would only cause long waits. */
function numbers({ type, minimum = -1000, maximum = 1_000_000 }: Schema): fc.Arbitrary<number> {
  const [min, max] = [Math.max(minimum, -(2 ** 31)), Math.min(maximum, 2 ** 31)];
  const near =
    type === 'integer' ? fc.integer({ min, max: Math.min(max, min + 50) }) : fc.double({ min, max, noNaN: true });
  return fc.oneof(
    { weight: 20, arbitrary: near },
    { weight: 1, arbitrary: fc.constantFrom(min, max, min - 1, max + 1) },
  );
}

function matching(pattern: string): fc.Arbitrary<string> {
  try {
    return fc.stringMatching(new RegExp(pattern), { maxLength: 300 });
  } catch {
    // fast-check doesn't know every pattern.
    return fc.string();
  }
}

function mostly<T>(usual: T | fc.Arbitrary<T>, odd: fc.Arbitrary<T>): fc.Arbitrary<T> {
  const arbitrary = usual instanceof fc.Arbitrary ? usual : fc.constant(usual);
  return fc.oneof({ weight: 50, arbitrary }, { weight: 1, arbitrary: odd });
}

/** Spellings of a text in a URL. */
function spelled(text: string): fc.Arbitrary<string> {
  const usual = encodeURIComponent(Buffer.from(text).toString());
  const odd = [usual.replaceAll('%', '%25'), usual.replaceAll('.', '%2e'), usual.toLowerCase()];
  return fc.constantFrom(usual, usual, usual, ...odd);
}

function pathOf({ path }: Operation): fc.Arbitrary<string> {
  const odd = fc.oneof(
    hostileText.chain(spelled),
    fc.constantFrom(...words('% %zz %00 %2f %2e%2e ..; * :id %ff a%2fb ;a=b fuzzed nowhere')),
  );
  const segments = path.slice(1).split('/');
  const parts = segments.map((segment) =>
    segment.startsWith('{')
      ? fc.oneof({ weight: 19, arbitrary: fc.constant(known) }, { weight: 1, arbitrary: odd })
      : mostly(segment, odd),
  );
  const ending = mostly('', fc.constantFrom('/', '//', '/..', '/.', '%20', '#a', '/x'));
  return fc.tuple(fc.tuple(...parts), ending).map(([chosen, end]) => `/${chosen.join('/')}${end}`);
}

function queryOf({ query }: Operation, values: Values): fc.Arbitrary<string> {
  const odd = fc.constantFrom(
    ...words('a = && path path=%zz limit=1&limit=2 __proto__[a]=1 tags[a][b]=1 %00=%00 a[]=1 [=] ?'),
  );
  const usual =
    query === undefined ? fc.constant('') : values.of(query).chain((value) => fc.tuple(...pairsOf(value).map(pair)));
  return mostly(
    usual.map((pairs) => (typeof pairs === 'string' ? pairs : pairs.join('&'))),
    odd,
  );
}

/** Names and values of a query: lists joined by commas, objects in brackets. */
function pairsOf(value: unknown): [string, string][] {
  if (!isObject(value)) return [['value', String(value)]];
  return Object.entries(value).flatMap(([key, field]): [string, string][] => {
    if (!isObject(field) || Array.isArray(field)) return [[key, toText(field)]];
    return Object.entries(field).map(([name, item]) => [`${key}[${name}]`, toText(item)]);
  });
}

function pair([key, value]: [string, string]): fc.Arbitrary<string> {
  return fc.tuple(spelled(key), spelled(value)).map(([name, text]) => `${name}=${text}`);
}

function toText(value: unknown): string {
  return isObject(value) ? JSON.stringify(value) : String(value);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function bodyOf({ body }: Operation, values: Values): fc.Arbitrary<Sent> {
  if (body === undefined)
    return mostly<Sent>({ headers: {}, body: undefined, isValid: true }, fc.constant(json('{"a":1}', false)));
  if (!('kind' in body)) return jsonOf(body, values);
  if (body.kind === 'multipart') return partsOf(body, values);
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 1000 }),
    fc.nat({ max: 300_000 }).map((size) => new Uint8Array(size)),
  );
  return bytes.map((content) => ({
    headers: { 'content-type': 'application/octet-stream' },
    body: content,
    isValid: true,
  }));
}

function json(text: string | Uint8Array, isValid: boolean, type = 'application/json'): Sent {
  return { headers: { 'content-type': type }, body: Buffer.from(text as Uint8Array), isValid };
}

const otherTypes = fc.constantFrom(
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'multipart/form-data; boundary=',
  'application/json; charset=utf-16',
  'application/json, text/html',
  'APPLICATION/JSON',
  'json',
  ';',
  '',
);

function jsonOf(schema: z.ZodType, values: Values): fc.Arbitrary<Sent> {
  const fitting = values.of(schema).map((value) => json(JSON.stringify(value) ?? '', schema.safeParse(value).success));
  const broken = values
    .of(schema)
    .chain((value) => damaged(JSON.stringify(value) ?? ''))
    .map((bytes) => json(bytes, false));
  const typed = fc.tuple(fitting, otherTypes).map(([{ body, isValid }, type]) => json(body!, isValid, type));
  const large = fc
    .constantFrom(9, 5)
    .map((megabytes) => json(`{"name":"${'x'.repeat(megabytes * 1024 * 1024)}"}`, false));
  const many = fc
    .nat({ max: 100_000 })
    .map((fields) => json(`{${Array.from({ length: fields }, (_, at) => `"f${at}":0`).join()}}`, false));
  return fc.oneof(
    { weight: 100, arbitrary: fitting },
    { weight: 20, arbitrary: broken },
    { weight: 10, arbitrary: typed },
    { weight: 1, arbitrary: large },
    { weight: 1, arbitrary: many },
    { weight: 3, arbitrary: fc.constant({ headers: {}, body: undefined, isValid: false }) },
  );
}

/** Parts with the names of the body's fields in all spellings, and with other names. */
function partsOf({ schema }: Multipart, values: Values): fc.Arbitrary<Sent> {
  const endings = ['', ...words('[0][dest_path] [0][file] .0.file []')];
  const names = Object.keys(schema.shape).flatMap((key) => endings.map((ending) => key + ending));
  const name = mostly(fc.constantFrom('dest_path', 'file', ...names), hostileText);
  const content = fc.oneof(
    values.of(z.string().regex(/^\//)).map(toText),
    fc.uint8Array({ maxLength: 2000 }).map((bytes) => Buffer.from(bytes)),
  );
  const part = fc.tuple(name, content, fc.boolean()).map(([field, value, isFile]): Part => {
    const text = field.replaceAll(/["\r\n]/g, '_');
    return isFile ? [text, value, 'file'] : [text, value];
  });
  const bytes = fc.array(part, { maxLength: 5 }).map(encoded);
  const cut = fc.tuple(bytes, fc.nat({ max: 500 })).map(([whole, end]) => whole.subarray(0, end));
  return fc
    .tuple(mostly<Uint8Array>(bytes, cut), mostly('multipart/form-data; boundary=cut', otherTypes))
    .map(([body, type]) => ({ headers: { 'content-type': type }, body, isValid: false }));
}

const oddHeaders: fc.Arbitrary<Record<string, string | string[]>> = fc.oneof(
  { weight: 20, arbitrary: fc.constant({}) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Record<string, string | string[]>>(
      { authorization: 'Bearer wrong' },
      { authorization: '' },
      { authorization: 'Bearer ' },
      { authorization: `Bearer ${'x'.repeat(8000)}` },
      { authorization: ['Bearer wrong', 'Bearer other'] },
      { 'content-type': ['application/json', 'text/plain'] },
      { 'x-http-method-override': 'DELETE' },
      { 'x-kernel-project-id': '../default' },
      { 'x-kernel-project-id': "' OR 1=1" },
      { range: 'bytes=0-0,1-1,2-2' },
      { range: 'bytes=-99999999999999999999' },
      { range: 'bytes=5-1' },
      { 'accept-encoding': 'gzip;q=1e999, *;q=0' },
      { cookie: 'a=b; '.repeat(500) },
      { 'x-large': 'x'.repeat(20_000) },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { host: 'evil.example' },
      { 'if-none-match': '*', 'if-match': '"x"' },
      { 'content-encoding': 'gzip' },
      { accept: 'text/event-stream' },
      { 'x-forwarded-host': 'evil.example', 'x-forwarded-for': '127.0.0.1' },
    ),
  },
);
