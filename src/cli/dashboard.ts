import { setTimeout } from 'node:timers/promises';
import type { Command } from 'commander';
import { CommandError } from './command-error.ts';
import { connected, type ServiceAddress } from './connection.ts';
import { interruptible } from './interruption.ts';
import { openInBrowser } from './open-in-browser.ts';
import { examples, serviceCommand, type ServiceOptions } from './service-command.ts';
import { printJSON } from './table.ts';

type DashboardOptions = ServiceOptions & { print?: boolean };

/** In milliseconds. */
const answerTimeout = 10_000;

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
      interruptible((signal) =>
        connected(options, env, signal, async (_client, startedHere, service) => {
          const url = await newLink(service, signal);
          if (options.json) printJSON({ url });
          else if (options.print) console.log(url);
          else await openInBrowser(url, env);
          if (!startedHere) return;
          console.error('The service was started for the dashboard. Ctrl+C ends both.');
          // Only a timer keeps the process running; this is the longest one.
          await setTimeout(2 ** 31 - 1, undefined, { signal }).catch(() => {});
        }),
      ),
    );
}

/** A link that signs in once. */
async function newLink({ baseURL, apiKey }: ServiceAddress, signal: AbortSignal): Promise<string> {
  const response = await fetch(`${baseURL.replace(/\/+$/, '')}/dashboard/links`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}` },
    signal: AbortSignal.any([signal, AbortSignal.timeout(answerTimeout)]),
    redirect: 'error',
  }).catch((error: unknown) => {
    const { message, cause } = error as Error & { cause?: { code?: string } };
    throw new CommandError(`the service at ${baseURL} doesn't answer: ${cause?.code ?? message}`);
  });
  const { status } = response;
  const answer: unknown = await response.json().catch(() => undefined);
  if (status === 401 || status === 403)
    throw new CommandError(`the service at ${baseURL} refuses the API key (${status}): check PLAYWRIGHT_POOL_API_KEY`);
  const { url } = (answer ?? {}) as { url?: unknown };
  if (status === 201 && typeof url === 'string') return url;
  throw new CommandError(
    `the service at ${baseURL} has no dashboard (it answered ${status}): use a service of this package, or "playwright-pool top"`,
  );
}
