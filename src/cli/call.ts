import { Command } from 'commander';
import { connected, connectionOptions, type ConnectionOptions } from './connection.ts';
import { interruptible } from './interruption.ts';
import type { CallOptions } from './operation-call.ts';
import { examples } from './service-command.ts';

const help = `${examples(
  'call',
  'call browserPools.acquire --describe',
  'call browsers.create timeout_seconds:=120 tags:=\'{"team":"shop"}\'',
  'call browsers.fs.writeFile id=wtgh7mh63piihgdskog7h2lm path=/home/user/a.txt --input a.txt',
  'call browserPools.list',
)}

"name=text" gives a text, "name:=json" any other value, "name=@file" a file of a form. Names come from the path, the query and the body.
The command prints answers as JSON, list items and events one per line, and bytes unchanged.`;

/** The command `call`, which calls any operation of the service. */
export function callCommand(env: NodeJS.ProcessEnv): Command {
  return connectionOptions(new Command('call').description('Call an operation of the service, or list all operations'))
    .argument('[operation]', 'for example browserPools.acquire; without it, list all')
    .argument('[parameters...]', 'name=text or name:=json')
    .option('--input <file>', 'file with the body, bytes or JSON; "-" is stdin')
    .option('--output <file>', 'file for an answer of bytes (default: stdout)')
    .option('--describe', 'print the parameters of the operation instead of calling it')
    .addHelpText('after', help)
    .action(
      (
        name: string | undefined,
        parameters: string[],
        options: ConnectionOptions & CallOptions & { describe?: boolean },
      ) =>
        interruptible(async (signal) => {
          const { call, describe, listOperations } = await import('./operation-call.ts');
          if (name === undefined) return listOperations();
          if (options.describe) return await describe(name);
          await connected(options, env, signal, (client) => call(client, name, parameters, options, signal));
        }),
    );
}
