/**
 * The operations of the hosted service that this service doesn't have, by the names of the hosted service's client. It
 * answers them with 501. An operation that the contract gets is removed here.
 */
export const leftOut: Readonly<Record<string, `${'GET' | 'POST' | 'DELETE'} /${string}`>> = {};
