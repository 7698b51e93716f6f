import type { Command } from 'commander';
import { dashboardSnapshot } from './dashboard-snapshot.ts';
import { listedState } from './service-state.ts';
import { examples, serviceCommand, type ServiceOptions, withClient } from './service-command.ts';
import type { Read } from './state-view.ts';
import { printJSON } from './table.ts';

type TopOptions = ServiceOptions & { once?: boolean };

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
      withClient(options, env, async (client, interrupted, _startedHere, service) => {
        const project = env['PLAYWRIGHT_POOL_PROJECT']?.trim();
        const read: Read = async (signal) =>
          (await dashboardSnapshot(service, { signal, project })) ?? (await listedState(client, signal));
        if (options.json) return printJSON(await read(interrupted));
        const { printState, showState } = await import('./state-view.ts');
        if (process.stdout.isTTY && !options.once) return await showState(read, interrupted);
        printState(await read(interrupted));
      }),
    );
}
