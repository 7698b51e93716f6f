import { setTimeout as sleep } from 'node:timers/promises';
import type { Command } from 'commander';
import { connected, type ServiceAddress } from './connection.ts';
import { dashboardSnapshot } from './dashboard-snapshot.ts';
import { interruptible } from './interruption.ts';
import { serviceLines } from './service-text.ts';
import { listedState, type ServiceState } from './service-state.ts';
import { onWholeScreen, type Screen } from './screen.ts';
import { examples, serviceCommand, type ServiceOptions } from './service-command.ts';
import { printJSON } from './table.ts';
import { printable, styled } from './terminal.ts';

/** Reads the state of the service. */
type Read = (signal: AbortSignal) => Promise<ServiceState>;

type TopOptions = ServiceOptions & { once?: boolean };

const intervalMs = 1000;
const noLimit = { columns: Infinity, rows: Infinity };

/** The command `top`. */
export function topCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('top', "Show the service's browsers, pools and running tests, and update the view each second")
    .option('--once', 'print the state once, as in a pipe or a file')
    .addHelpText(
      'after',
      `${examples('top', 'top --once', 'top --json | jq .counts')}

q or Ctrl+C ends the view. In front of the tests is the time since the lease of their browser.
Draining counts the browsers of services and machines that are about to end.`,
    )
    .action((options: TopOptions) =>
      interruptible((interrupted) =>
        connected(options, env, interrupted, async (client, _startedHere, service: ServiceAddress) => {
          const project = env['PLAYWRIGHT_POOL_PROJECT']?.trim();
          const read: Read = async (signal) =>
            (await dashboardSnapshot(service, { signal, project })) ?? (await listedState(client, signal));
          const isLive = process.stdout.isTTY && !options.once && !options.json;
          if (isLive) return await onWholeScreen((screen) => follow(read, screen, interrupted));
          const state = await read(interrupted);
          if (options.json) printJSON(state);
          else console.log(serviceLines(state, noLimit).join('\n'));
        }),
      ),
    );
}

/** Draws the state each second until the user ends the view. */
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
