import { z } from 'zod';
import type { Operation } from './operation.ts';

/** A field that a body has but the contract doesn't, with its path, and the names of the contract's fields. */
export type UnknownField = { path: string; known: string[] };

/** The first unknown field of a JSON body or a form. */
export function unknownField({ body }: Operation, fields: unknown): UnknownField | undefined {
  // The fields of a plain form have names of their own.
  if (!body || 'plain' in body) return undefined;
  const schema = 'schema' in body ? body.schema : body;
  if (!(schema instanceof z.ZodType)) return undefined;
  const issues = schema.safeParse(fields).error?.issues ?? [];
  const unknown = issues.find((issue) => issue.code === 'unrecognized_keys');
  return unknown && { path: [...unknown.path, unknown.keys[0]!].join('.'), known: fieldNames(schema, unknown.path) };
}

/** The names of the fields at a path. */
function fieldNames(schema: z.ZodType, path: PropertyKey[]): string[] {
  const described = path.reduce<z.core.JSONSchema.BaseSchema | undefined>(
    (node, key) => (node?.properties?.[String(key)] ?? node?.items) as z.core.JSONSchema.BaseSchema | undefined,
    z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }),
  );
  return Object.keys(described?.properties ?? {});
}
