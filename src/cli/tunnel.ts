import { Command } from 'commander';
import { parseNetworkPattern } from '../tunnel/pattern.ts';
import { CommandError, exitCodes } from './command-error.ts';
import { connectionOptions, type ConnectionOptions } from './connection.ts';
import { examples, withClient } from './service-command.ts';

type TunnelOptions = ConnectionOptions & { expose: string };

const notes = `
The command runs until Ctrl+C, or until the session ends. Pages that contexts of the session open from now on reach the hosts on this
machine. The default context reaches them only if the session or its pool was made with the field tunnel.`;

/** The command `tunnel`. */
export function tunnelCommand(env: NodeJS.ProcessEnv): Command {
  return connectionOptions(new Command('tunnel'))
    .description("Let a session's pages reach apps on this machine")
    .argument('<session>', 'id or name of the session')
    .option(
      '--expose <pattern>',
      'the hosts, for example <loopback>, localhost:3000 or *.test, with commas between them',
      '<loopback>',
    )
    .addHelpText('after', examples('tunnel checkout', "tunnel checkout --expose 'localhost:3000,*.test'"))
    .addHelpText('after', notes)
    .action((session: string, options: TunnelOptions) =>
      withClient(options, env, async (client, signal) => {
        const { expose } = options;
        checkPattern(expose);
        const { tunnel_ws_url: url } = await client.browsers.retrieve(session, {}, { signal });
        if (url === undefined)
          throw new CommandError(`the service offers no tunnel to the session ${session}: update the service`);
        const { TunnelClient } = await import('../tunnel/tunnel-client.ts');
        const tunnel = await TunnelClient.open({ url, expose, signal, onChange: tell });
        signal.addEventListener('abort', () => tunnel.close());
        console.log(`Pages of ${session} reach ${expose} on this machine. Press Ctrl+C to end the tunnel.`);
        const reason = await tunnel.closed;
        signal.throwIfAborted();
        console.error(`The tunnel ended: ${reason}.`);
      }),
    );
}

function tell({ isOpen, reason }: { isOpen: boolean; reason: string }): void {
  console.error(
    isOpen ? 'The tunnel is connected again.' : `The tunnel broke (${reason}) and is being connected again.`,
  );
}

function checkPattern(pattern: string): void {
  try {
    parseNetworkPattern(pattern);
  } catch (error) {
    throw new CommandError(`--expose: ${(error as Error).message}`, exitCodes.usage);
  }
}
