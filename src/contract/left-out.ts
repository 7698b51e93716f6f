/**
 * The operations that this service doesn't have, by their names in the hosted service's SDK (the npm package
 * `@onkernel/sdk`, which works with this service, too). The service answers them with 501. Empty, because it has them all.
 * Remove an operation here when you add it to the contract.
 */
export const leftOut: Readonly<Record<string, `${'GET' | 'POST' | 'DELETE'} /${string}`>> = {};
