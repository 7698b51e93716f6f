import type { Command } from 'commander';
import { CommandError } from './command-error.ts';
import type { ServiceAddress } from './connection.ts';
import { leasedPool, poolOption } from './leased-pool.ts';
import { examples, printResult, serviceCommand, type ServiceOptions, withClient } from './service-command.ts';

type URLOptions = ServiceOptions & { pool?: string; cdp?: true };

const notes = `
A client that connects to the URL leases a browser, and returns it when it disconnects:
  chromium.connect(url)          Playwright in any language; its minor version must be one that the service has
  chromium.connectOverCDP(url)   any version, with --cdp; also puppeteer.connect({ browserWSEndpoint: url })

The URL contains the API key: keep it out of logs and repositories. The embedded service of a test run ends with the run, so the command
needs a service that runs: playwright-pool serve, or one on another machine.`;

/** The command `url`. */
export function urlCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('url', 'Print the URL that leases a browser for any Playwright client')
    .addOption(poolOption())
    .option('--cdp', "print the URL for clients of Chromium's protocol (CDP)")
    .addHelpText('after', `${examples('url', 'url --pool ci', 'url --pool ci --cdp')}\n${notes}`)
    .action((options: URLOptions) =>
      withClient(options, env, async (client, signal, startedHere, service) => {
        if (startedHere) throw new CommandError(noService);
        const named = options.pool ?? env['PLAYWRIGHT_POOL_NAME']?.trim();
        const pool = await leasedPool(client, { named, isEmbedded: service.dataDirectory !== undefined, signal });
        const url = connectURL(service, { protocol: options.cdp ? 'cdp' : 'playwright', pool, key: true });
        printResult(options, { url }, url);
      }),
    );
}

const noService =
  'no service runs here. Start one with "playwright-pool serve", choose one with --base-url, or let "playwright-pool run -- COMMAND" start one';

/** The protocol that a client speaks to its browser. */
type ConnectProtocol = 'playwright' | 'cdp';

/**
 * The URL that leases a browser while a client is connected to it. `key`: the URL contains the API key, for clients that
 * can't send headers. `run`: the id of the test run.
 */
export function connectURL(
  { baseURL, apiKey, projectId }: ServiceAddress,
  { protocol, pool, run, key }: { protocol: ConnectProtocol; pool: string | undefined; run?: string; key: boolean },
): string {
  const url = new URL(baseURL);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/${protocol}`;
  url.search = '';
  if (pool !== undefined) url.searchParams.set('pool', pool);
  if (run !== undefined) url.searchParams.set('run', run);
  if (projectId !== undefined) url.searchParams.set('project', projectId);
  if (key) url.searchParams.set('token', apiKey);
  return url.href;
}
