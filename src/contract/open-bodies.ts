import type { Operation } from './operation.ts';

/**
 * The operations that refuse unknown fields in JSON bodies and forms. They are those whose body the hosted service's
 * OpenAPI document closes (`additionalProperties: false`). Its SDK is the npm package `@onkernel/sdk`. In bodies of all
 * other operations, and in all queries, the service ignores unknown fields.
 */
const closed =
  /^\/(browsers\/\{id\}\/(fs|computer|process|playwright|curl)|auth\/connections|credentials|org\/credential_providers)(\/|$)/;

/** Whether the service ignores unknown fields of the body. Otherwise it refuses them. */
export function hasOpenBody({ path }: Pick<Operation, 'path'>): boolean {
  return !closed.test(path);
}
