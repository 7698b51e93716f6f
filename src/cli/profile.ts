import { Command, Option } from 'commander';
import { connected } from './connection.ts';
import { interruptible } from './interruption.ts';
import type { DownloadOptions, UnpackOptions } from './profile-archive.ts';
import type { DiffOptions } from './profile-diff.ts';
import type { OpenOptions } from './profile-open.ts';
import { all, confirm, examples, serviceCommand, type ServiceOptions } from './service-command.ts';
import { printJSON, printTable } from './table.ts';

/** The commands for stored user-data directories. `env` is where the service and Chromium are looked up. */
export function profileCommand(env: NodeJS.ProcessEnv): Command {
  return new Command('profile')
    .description('List, make, download, compare and delete profiles')
    .addCommand(listCommand(env))
    .addCommand(createCommand(env))
    .addCommand(downloadCommand(env))
    .addCommand(unpackCommand())
    .addCommand(openCommand(env))
    .addCommand(diffCommand(env))
    .addCommand(deleteCommand(env));
}

function listCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('list', 'List the profiles, newest first')
    .addHelpText('after', examples('profile list', 'profile list --json', 'profile list --base-url https://browsers.example.com'))
    .action((options: ServiceOptions) =>
      interruptible(async (signal) => {
        const profiles = await connected(options, env, signal, (client) => all(client.profiles.list({}, { signal })));
        if (options.json) return printJSON(profiles);
        if (profiles.length === 0) return console.log('There are no profiles.');
        const rows = profiles.map(({ id, name, created_at, updated_at, last_used_at }) => [
          name ?? '',
          id,
          created_at,
          updated_at ?? '',
          last_used_at ?? '',
        ]);
        printTable(['NAME', 'ID', 'CREATED', 'UPDATED', 'LAST USED'], rows);
      }),
    );
}

function createCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('create', 'Make an empty profile')
    .argument('<name>', 'letters, digits, dots, underscores and hyphens')
    .addHelpText('after', examples('profile create ann'))
    .action((name: string, options: ServiceOptions) =>
      interruptible(async (signal) => {
        const profile = await connected(options, env, signal, (client) => client.profiles.create({ name }, { signal }));
        if (options.json) printJSON(profile);
        else console.log(`Created the profile ${name} (${profile.id}).`);
      }),
    );
}

function downloadCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('download', "Download a profile's user-data directory as an archive")
    .argument('<name>', 'name or id of the profile')
    .option('-o, --output <path>', 'the file to write, or the directory for it if one is there or the path ends in "/"', '.')
    .addOption(new Option('--format <format>', 'compressed or not').choices(['tar.zst', 'tar']).default('tar.zst'))
    .addHelpText(
      'after',
      `${examples('profile download ann', 'profile download ann -o profiles/', 'profile download ann -o ann.tar --format tar')}

The file holds cookies and logins: nobody else may read it. It is there when it is whole, and takes the place of one that was there.
Exit code 3: nothing was saved in this profile yet.`,
    )
    .action((name: string, options: DownloadOptions) =>
      interruptible(async (signal) => (await import('./profile-archive.ts')).download(name, options, env, signal)),
    );
}

function unpackCommand(): Command {
  return new Command('unpack')
    .description('Make a user-data directory of an archive')
    .argument('<file>', 'a downloaded archive')
    .requiredOption('-o, --output <directory>', 'the directory to make')
    .option('--force', 'replace a user-data directory that is there')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('profile unpack ann.tar.zst -o ann', 'profile unpack ann.tar.zst -o ann --force'))
    .action((file: string, options: UnpackOptions) =>
      interruptible(async (signal) => (await import('./profile-archive.ts')).unpack(file, options, signal)),
    );
}

function openCommand(env: NodeJS.ProcessEnv): Command {
  return chromiumOptions(serviceCommand('open', "Start this machine's Chromium on a copy of a profile"))
    .argument('<profile>', whichProfile)
    .option('--headless', 'without a window; so it is where there is no display')
    .addHelpText(
      'after',
      `${examples('profile open ann', 'profile open ./ann.tar.zst', 'profile open ann --headless')}

The browser ends with Ctrl+C, or when it is closed. The copy is removed then; the profile stays as it is.`,
    )
    .action((profile: string, options: OpenOptions) =>
      interruptible(async (signal) => (await import('./profile-open.ts')).openCopy(profile, options, env, signal)),
    );
}

function diffCommand(env: NodeJS.ProcessEnv): Command {
  return chromiumOptions(serviceCommand('diff', 'Compare two profiles: cookies, local storage, preferences and extensions'))
    .argument('<a>', whichProfile)
    .argument('<b>', 'the same')
    .option('--show-values', 'print values, which may be secrets, instead of their lengths and marks')
    .addHelpText(
      'after',
      `${examples('profile diff ann bob', 'profile diff ann ./ann-of-yesterday.tar.zst', 'profile diff ./before ./after --show-values --json')}

Values are masked: equal ones have the same mark within one output. Cookies and local storage are read by Chromium from copies.
Exit codes: 0 nothing differs, 1 something does, 2 the comparison failed.`,
    )
    .action((a: string, b: string, options: DiffOptions) =>
      interruptible(async (signal) => (await import('./profile-diff.ts')).diff(a, b, options, env, signal)),
    );
}

function deleteCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('delete', 'Delete a profile with all that was saved in it')
    .argument('<name>', 'name or id of the profile')
    .option('-y, --yes', 'do not ask; needed where there is no terminal to ask on')
    .addHelpText('after', examples('profile delete ann', 'profile delete ann --yes'))
    .action((name: string, options: ServiceOptions & { yes?: boolean }) =>
      interruptible(async (signal) => {
        if (!options.yes) await confirm(`Delete the profile ${name} with all that was saved in it?`, signal);
        await connected(options, env, signal, (client) => client.profiles.delete(name, { signal }));
        if (options.json) printJSON({ deleted: name });
        else console.log(`Deleted the profile ${name}.`);
      }),
    );
}

const whichProfile =
  'name or id of a profile; or an archive or user-data directory, by a path with "/" in it or ending in .tar or .tar.zst';

function chromiumOptions(command: Command): Command {
  return command
    .addOption(new Option('--chromium <file>', 'the Chromium to run').env('PLAYWRIGHT_POOL_CHROMIUM'))
    .option('--no-sandbox', "run Chromium without its sandbox, where the system doesn't allow one");
}
