import type { View } from '../app/place.browser.ts';
import { apps } from './apps.browser.tsx';
import { audit } from './audit.browser.tsx';
import { keys } from './keys.browser.tsx';
import { leases } from './leases.browser.tsx';
import { logins } from './logins.browser.tsx';
import { machines } from './machines.browser.tsx';
import { now } from './now.browser.tsx';
import { pools } from './pools.browser.tsx';
import { profiles } from './profiles.browser.tsx';
import { replays } from './replays.browser.tsx';
import { runs } from './runs.browser.tsx';
import { wall } from './wall.browser.tsx';

/** The view that opens if the URL names none. */
export const home: View = now;

/** All views, in the order of the navigation. */
export const views: readonly View[] = [
  now,
  wall,
  leases,
  runs,
  machines,
  pools,
  replays,
  profiles,
  logins,
  apps,
  audit,
  keys,
];
