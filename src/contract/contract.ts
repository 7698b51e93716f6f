import { browserPools } from './browser-pools.ts';
import { browsers } from './browsers.ts';
import { profiles } from './profiles.ts';

/** Every operation of the service, under the names by which the client offers it. */
export const contract = { browsers, browserPools, profiles };

export type Contract = typeof contract;
