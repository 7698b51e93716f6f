import { Command, Option } from 'commander';
import { connected } from './connection.ts';
import { interruptible } from './interruption.ts';
import { openInBrowser } from './open-in-browser.ts';
import { all, examples, serviceCommand, type ServiceOptions, without } from './service-command.ts';
import { printJSON, printTable } from './table.ts';

type ListOptions = ServiceOptions & { status: 'active' | 'deleted' | 'all' };

/** They open for whoever has them. */
const links = ['cdp_ws_url', 'webdriver_ws_url', 'browser_live_view_url'] as const;

/** The commands for browser sessions. `env` is where the service is looked up. */
export function sessionsCommand(env: NodeJS.ProcessEnv): Command {
  return new Command('sessions')
    .description('List browser sessions, look into them and end them')
    .addCommand(listCommand(env))
    .addCommand(openCommand(env))
    .addCommand(killCommand(env));
}

function listCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('list', 'List the browser sessions, newest first')
    .addOption(new Option('--status <status>', 'which ones').choices(['active', 'deleted', 'all']).default('active'))
    .addHelpText('after', examples('sessions list', 'sessions list --status all --json'))
    .action((options: ListOptions) =>
      interruptible(async (signal) => {
        const { status } = options;
        const sessions = await connected(options, env, signal, (client) => all(client.browsers.list({ status }, { signal })));
        if (options.json) return printJSON(sessions.map((session) => without(session, links)));
        if (sessions.length === 0) return console.log('There are no browser sessions.');
        const rows = sessions.map(({ session_id, name, pool, profile, created_at, deleted_at }) => [
          session_id,
          name ?? '',
          pool?.name ?? pool?.id ?? '',
          profile?.name ?? '',
          created_at,
          deleted_at ?? '',
        ]);
        printTable(['ID', 'NAME', 'POOL', 'PROFILE', 'CREATED', 'ENDED'], rows);
      }),
    );
}

function openCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('open', 'Show a running session live')
    .argument('<session>', 'id or name of the session')
    .option('--read-only', 'take no mouse and keyboard')
    .option('--print', 'print the link instead of opening it; it opens for whoever has it')
    .addHelpText('after', examples('sessions open checkout', 'sessions open checkout --read-only --print'))
    .action((session: string, options: ServiceOptions & { readOnly?: boolean; print?: boolean }) =>
      interruptible(async (signal) => {
        const { browser_live_view_url } = await connected(options, env, signal, (client) =>
          client.browsers.retrieve(session, {}, { signal }),
        );
        if (browser_live_view_url === undefined) throw new Error(`the service offers no live view of ${session}`);
        const url = options.readOnly ? `${browser_live_view_url}&readOnly=true` : browser_live_view_url;
        if (options.json) printJSON({ url });
        else if (options.print) console.log(url);
        else await openInBrowser(url, env);
      }),
    );
}

function killCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('kill', 'End sessions with their browsers')
    .argument('<session...>', 'ids or names')
    .addHelpText('after', examples('sessions kill checkout'))
    .action((sessions: string[], options: ServiceOptions) =>
      interruptible(async (signal) => {
        await connected(options, env, signal, async (client) => {
          for (const session of sessions) {
            await client.browsers.deleteByID(session, { signal });
            if (!options.json) console.log(`Ended ${session}.`);
          }
        });
        if (options.json) printJSON({ ended: sessions });
      }),
    );
}
