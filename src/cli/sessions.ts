import { Command, Option } from 'commander';
import type { BrowserSession } from '../client/index.ts';
import { testTitleOf } from '../contract/lease-tags.ts';
import { showLink } from './open-in-browser.ts';
import { all, examples, serviceCommand, type ServiceOptions, withClient, without } from './service-command.ts';
import { type Columns, printJSON, printList } from './table.ts';

type ListOptions = ServiceOptions & { status: 'active' | 'deleted' | 'all' };

/** The links of a session that work without an API key. `sessions list` doesn't print them. */
const links = [
  'cdp_ws_url',
  'playwright_ws_url',
  'webdriver_ws_url',
  'tunnel_ws_url',
  'browser_live_view_url',
  'read_only_live_view_url',
] as const;

/** The command `sessions`. */
export function sessionsCommand(env: NodeJS.ProcessEnv): Command {
  return new Command('sessions')
    .description('List browser sessions, show them live and end them')
    .addCommand(listCommand(env))
    .addCommand(openCommand(env))
    .addCommand(killCommand(env));
}

function listCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('list', 'List the browser sessions, newest first')
    .addOption(
      new Option('--status <status>', 'which sessions to list').choices(['active', 'deleted', 'all']).default('active'),
    )
    .addHelpText('after', examples('sessions list', 'sessions list --status all --json'))
    .action((options: ListOptions) =>
      withClient(options, env, async (client, signal) => {
        const sessions = await all(client.browsers.list({ status: options.status }, { signal }));
        const listed = sessions.map((session) => without(session, links));
        await printList(listed as BrowserSession[], columns, options, 'There are no browser sessions.');
      }),
    );
}

const columns: Columns<BrowserSession> = {
  ID: 'session_id',
  NAME: 'name',
  POOL: ({ pool }) => pool?.name ?? pool?.id,
  PROFILE: ({ profile }) => profile?.name,
  IDLE: ({ idle_seconds, timeout_seconds }) =>
    idle_seconds === undefined ? undefined : `${idle_seconds} of ${timeout_seconds} s`,
  HOLDER: ({ tags }) => holderOf(tags),
  TEST: ({ tags }) => testTitleOf(tags),
  CREATED: 'created_at',
  ENDED: 'deleted_at',
};

/**
 * The worker process that leased the session. Its tag has the pid of the test run, the index of the worker and the worker's
 * pid.
 */
function holderOf(tags: BrowserSession['tags']): string | undefined {
  const { 'playwright-pool.holder': holder, 'playwright-pool.host': host } = tags ?? {};
  const [, worker, pid] = holder?.split(':') ?? [];
  if (pid === undefined) return holder;
  return `worker ${worker}, process ${pid}${host === undefined ? '' : ` on ${host}`}`;
}

function openCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('open', 'Show a running session live')
    .argument('<session>', 'id or name of the session')
    .option('--read-only', 'ignore mouse and keyboard')
    .option('--print', 'print the link instead of opening it; anybody who has the link can use it')
    .addHelpText('after', examples('sessions open checkout', 'sessions open checkout --read-only --print'))
    .action((session: string, options: ServiceOptions & { readOnly?: boolean; print?: boolean }) =>
      withClient(options, env, async (client, signal) => {
        const links = await client.browsers.retrieve(session, {}, { signal });
        const url = options.readOnly ? links.read_only_live_view_url : links.browser_live_view_url;
        if (url === undefined)
          throw new Error(
            `the service offers no ${options.readOnly ? 'read-only ' : ''}live view of the session ${session}`,
          );
        await showLink(url, options, env);
      }),
    );
}

function killCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('kill', 'End sessions with their browsers')
    .argument('<session...>', 'ids or names')
    .addHelpText('after', examples('sessions kill checkout'))
    .action((sessions: string[], options: ServiceOptions) =>
      withClient(options, env, async (client, signal) => {
        for (const session of sessions) {
          await client.browsers.deleteByID(session, { signal });
          if (!options.json) console.log(`Ended ${session}.`);
        }
        if (options.json) printJSON({ ended: sessions });
      }),
    );
}
