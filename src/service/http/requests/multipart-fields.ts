import type { Multipart } from '../../../contract/operation.ts';
import { filePart } from '../../../contract/values.ts';

/** The keys of a field's path: `['files', '0', 'file']` for `files[0][file]`, `files[0].file` and `files.0.file`. */
export type FieldPath = readonly string[];

/**
 * Returns the path in the body's schema for the name of a multipart part. `nth` is the number of earlier parts with
 * this name: in `files.file` and `files[][file]` it is the index in the list.
 */
export function fieldPath(name: string, body: Multipart, nth = 0): FieldPath {
  return numbered(keysOf(name, body), body.schema, nth);
}

function keysOf(name: string, { schema, plain }: Multipart): FieldPath {
  const [first = '', rest = ''] = /^([^.[\]]*)(.*)$/s.exec(name)?.slice(1) ?? [];
  const keys = [
    first,
    ...Array.from(
      rest.matchAll(/\[([^\]]*)\]|\.([^.[\]]*)|.+/gs),
      ([text, bracketed, dotted]) => bracketed ?? dotted ?? text,
    ),
  ];
  return plain !== undefined && keys.length === 1 && !Object.hasOwn(schema.shape, first) ? [plain, '0', first] : keys;
}

/** Adds the index of the list item if the name has none. */
function numbered(keys: FieldPath, body: Schema, nth: number): FieldPath {
  const [list = '', next, ...rest] = keys;
  const schema = below(body, list);
  if (next === undefined || schema === undefined || unwrapped(schema).def.type !== 'array') return keys;
  const isOfItem = next === '' || below(below(schema, '0')!, next) !== undefined;
  if (below(schema, next) || !isOfItem) return keys;
  return [list, String(nth), ...(next === '' ? rest : [next, ...rest])];
}

/** Whether a field is a file or text; `undefined` if the body has no such field. */
export function fieldKind(path: FieldPath, body: Multipart): 'file' | 'text' | undefined {
  let schema: Schema | undefined = body.schema;
  for (const key of path) schema = schema && below(schema, key);
  if (schema === undefined) return undefined;
  const { type } = unwrapped(schema).def;
  if (type === 'object' || type === 'array' || type === 'record') return undefined;
  return unwrapped(schema) === filePart ? 'file' : 'text';
}

/** Builds the body from its fields and their paths. List items are sorted by their numbers. */
export function assembled(fields: Iterable<[FieldPath, unknown]>, { schema }: Multipart): unknown {
  const tree: Tree = new Map();
  for (const [path, value] of fields) {
    let node = tree;
    for (const key of path.slice(0, -1))
      node = (node.get(key) ?? node.set(key, new Map<string, unknown>()).get(key)) as Tree;
    node.set(path.at(-1)!, value);
  }
  return grown(tree, schema);
}

type Tree = Map<string, unknown>;

function grown(node: unknown, schema: Schema | undefined): unknown {
  if (!(node instanceof Map) || !schema) return node;
  const entries = Array.from(node as Tree, ([key, value]) => [key, grown(value, below(schema, key))] as const);
  if (unwrapped(schema).def.type !== 'array') return Object.fromEntries(entries);
  return entries.toSorted(([a], [b]) => Number(a) - Number(b)).map(([, value]) => value);
}

function below(schema: Schema, key: string): Schema | undefined {
  const { type, shape = {}, element, valueType } = unwrapped(schema).def;
  if (type === 'array') return /^\d{1,6}$/.test(key) ? element : undefined;
  if (type === 'record') return valueType;
  return type === 'object' && Object.hasOwn(shape, key) ? shape[key] : undefined;
}

/** A schema that may be optional or have a default. */
export type Schema = {
  def: { type: string; innerType?: Schema; shape?: Record<string, Schema>; element?: Schema; valueType?: Schema };
};

/** The schema without `optional` and `default`. */
export function unwrapped(schema: Schema): Schema {
  return schema.def.innerType ? unwrapped(schema.def.innerType) : schema;
}
