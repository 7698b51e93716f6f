/** The machines on which a pool's browsers run. */
export type MachineCounts = { count: number; draining: number };

/** Returns why acquires of a pool wait, for example `12 waiting, 40 leased on 5 machines, 1 machine draining`. */
export function waitReason(pool: {
  waiting: number;
  leased: number;
  starting: number;
  /** Why browsers don't start. */
  obstacle: string | undefined;
  /** `undefined` if the browsers run on the service's own machine. */
  machines: MachineCounts | undefined;
}): string {
  const { waiting, leased, starting, obstacle, machines } = pool;
  const place = machines ? ` on ${counted(machines.count)}` : '';
  return [
    `${waiting} waiting`,
    `${leased} leased${place}`,
    ...(starting > 0 ? [`${starting} starting`] : []),
    ...(machines && machines.draining > 0 ? [`${counted(machines.draining)} draining`] : []),
    ...(obstacle ? [obstacle] : []),
  ].join(', ');
}

function counted(machines: number): string {
  return machines === 1 ? '1 machine' : `${machines} machines`;
}
