import { setTimeout as sleep } from 'node:timers/promises';
import { onWholeScreen, type Screen } from './screen.ts';
import type { ServiceState } from './service-state.ts';
import { serviceLines } from './service-text.ts';
import { printable, styled } from './terminal.ts';

/** Reads the state of the service. */
export type Read = (signal: AbortSignal) => Promise<ServiceState>;

const intervalMs = 1000;
const noLimit = { columns: Infinity, rows: Infinity };

/** Prints the state of a service as text. */
export function printState(state: ServiceState): void {
  console.log(serviceLines(state, noLimit).join('\n'));
}

/** Shows the state on the whole terminal, and reads it again each second, until the user ends the view. */
export async function showState(read: Read, interrupted: AbortSignal): Promise<void> {
  await onWholeScreen((screen) => follow(read, screen, interrupted));
}

async function follow(read: Read, screen: Screen, interrupted: AbortSignal): Promise<void> {
  const signal = AbortSignal.any([interrupted, screen.closed]);
  let state = await read(signal).catch((error: unknown) => {
    if (signal.aborted) return undefined;
    throw error;
  });
  let problem = '';
  const draw = () => {
    if (!state) return;
    const { columns, rows } = screen.size();
    const title = `playwright-pool top  ${new Date().toLocaleTimeString('en-GB')}  q: end`;
    const first = problem === '' ? styled(process.stdout, 'dim', title) : styled(process.stdout, 'red', problem);
    screen.draw([first, '', ...serviceLines(state, { columns, rows: rows - 2 })]);
  };
  screen.onResize(draw);
  while (!signal.aborted) {
    draw();
    await sleep(intervalMs, undefined, { signal }).catch(() => undefined);
    try {
      if (!signal.aborted) state = await read(signal);
      problem = '';
    } catch (error) {
      // Keep the last state on the screen, and show the problem above it.
      problem = `not up to date: ${printable((error as Error).message)}`;
    }
  }
}
