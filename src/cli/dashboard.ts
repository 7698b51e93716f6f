import type { Command } from 'commander';
import { CommandError } from './command-error.ts';
import type { ServiceAddress } from './connection.ts';
import { dashboardRequest } from './dashboard-request.ts';
import { keepStarted, showLink } from './open-in-browser.ts';
import { examples, serviceCommand, type ServiceOptions, withClient } from './service-command.ts';

type DashboardOptions = ServiceOptions & { print?: boolean };

/** The command `dashboard`. */
export function dashboardCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('dashboard', "Open the service's dashboard in your browser")
    .option('--print', 'print the link instead of opening it')
    .addHelpText(
      'after',
      `${examples('dashboard', 'dashboard --print', 'dashboard --base-url https://browsers.example.com')}

The link signs in once, within 60 seconds. Run the command again for another one.
While a test run uses the embedded service of this project, the dashboard shows that run.
If no service runs, the command starts one and keeps it until Ctrl+C.`,
    )
    .action((options: DashboardOptions) =>
      withClient(options, env, async (_client, signal, startedHere, service) => {
        await showLink(await newLink(service, signal), options, env);
        await keepStarted(startedHere, 'the dashboard', signal);
      }),
    );
}

/** Asks the service for a link that signs in once. */
async function newLink(service: ServiceAddress, signal: AbortSignal): Promise<string> {
  const response = await dashboardRequest(service, ['POST', '/dashboard/links'], { signal });
  const { status } = response;
  const answer: unknown = await response.json().catch(() => undefined);
  const { url } = (answer ?? {}) as { url?: unknown };
  if (status === 201 && typeof url === 'string') return url;
  throw new CommandError(
    `the service at ${service.baseURL} has no dashboard (it answered ${status}): use a service of this package, or "playwright-pool top"`,
  );
}
