import { existsSync, readdirSync, utimesSync } from 'node:fs';

const directory = '/var/lib/playwright-pool-users';

/** The process ids of the services that claim a user id. */
export function claimsOf(uid: number): number[] {
  return claims().flatMap(([claimed, pid = 0]) => (claimed === uid ? [pid] : []));
}

/** The user ids that this process has claimed. */
export function ownClaims(): number[] {
  return claims().flatMap(([claimed = 0, pid]) => (pid === process.pid ? [claimed] : []));
}

/** Whether a user id was used and given back. */
export function isGivenBack(uid: number): boolean {
  return claimsOf(uid).length === 0 && existsSync(`${directory}/free/${uid}`);
}

/** Changes the time when a user id was given back, in seconds since the epoch. */
export function setGivenBack(uid: number, time: number): void {
  utimesSync(`${directory}/free/${uid}`, time, time);
}

function claims(): number[][] {
  return readdirSync(directory).map((name) => name.split('.').map(Number));
}
