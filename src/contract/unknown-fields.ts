import { z } from 'zod';
import type { Operation } from './operation.ts';

/** A field that the contract doesn't have: its path in the body, and the names of the fields that may be there. */
export type UnknownField = { path: string; known: string[] };

/** Finds the first unknown field of a JSON body or a form. */
export function unknownField({ body }: Operation, fields: unknown): UnknownField | undefined {
  // A form with `plain` allows names that aren't in its schema, so it can't be checked.
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
