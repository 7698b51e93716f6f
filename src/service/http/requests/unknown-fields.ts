import type { z } from 'zod';

/** Parses a value after removing the fields that the schema doesn't know, in nested objects too. Changes `value`. */
export function parseKnown<S extends z.ZodType>(schema: S, value: unknown): z.ZodSafeParseResult<z.output<S>> {
  let result = schema.safeParse(value);
  while (!result.success && removeUnknown(value, result.error.issues)) result = schema.safeParse(value);
  return result;
}

function removeUnknown(value: unknown, issues: z.core.$ZodIssue[]): boolean {
  const unknown = issues.filter((issue) => issue.code === 'unrecognized_keys');
  for (const { path, keys } of unknown) {
    const owner = path.reduce<unknown>((node, key) => (node as Record<PropertyKey, unknown>)[key], value);
    for (const key of keys) delete (owner as Record<string, unknown>)[key];
  }
  return unknown.length > 0;
}
