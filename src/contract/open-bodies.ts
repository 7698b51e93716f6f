import type { Operation } from './operation.ts';

/**
 * The operations whose JSON bodies and forms the hosted service's document closes. Bodies of all others may have
 * fields that the contract doesn't know, and all queries may have unknown parameters. The service ignores them.
 */
const closed =
  /^\/(browsers\/\{id\}\/(fs|computer|process|playwright|curl)|auth\/connections|credentials|org\/credential_providers)(\/|$)/;

/** Whether the service ignores unknown fields of the body. Otherwise it refuses them. */
export function hasOpenBody({ path }: Pick<Operation, 'path'>): boolean {
  return !closed.test(path);
}
