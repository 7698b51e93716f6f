import { Command, Option } from 'commander';
import { interruptible } from './interruption.ts';
import type { DownloadOptions, UnpackOptions } from './profile-archive.ts';
import type { DiffOptions } from './profile-diff.ts';
import type { OpenOptions } from './profile-open.ts';
import {
  deleteCommand,
  examples,
  listCommand,
  printResult,
  serviceCommand,
  type ServiceOptions,
  withClient,
} from './service-command.ts';

const columns = { NAME: 'name', ID: 'id', CREATED: 'created_at', UPDATED: 'updated_at', 'LAST USED': 'last_used_at' };

/** The command `profile`. */
export function profileCommand(env: NodeJS.ProcessEnv): Command {
  return new Command('profile')
    .description('List, create, download, open, compare and delete profiles')
    .addCommand(
      listCommand(
        env,
        'List the profiles, newest first',
        columns,
        (client, signal) => client.profiles.list({}, { signal }),
        'There are no profiles.',
      ).addHelpText('after', examples('profile list', 'profile list --json')),
    )
    .addCommand(createCommand(env))
    .addCommand(downloadCommand(env))
    .addCommand(unpackCommand())
    .addCommand(openCommand(env))
    .addCommand(diffCommand(env))
    .addCommand(
      deleteCommand(env, 'Delete a profile and its saved data', 'profile', (client, name, _options, signal) =>
        client.profiles.delete(name, { signal }),
      )
        .argument('<name>', 'name or id of the profile')
        .addHelpText('after', examples('profile delete ann', 'profile delete ann --yes')),
    );
}

function createCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('create', 'Create an empty profile')
    .argument('<name>', 'letters, digits, dots, underscores and hyphens')
    .addHelpText('after', examples('profile create ann'))
    .action((name: string, options: ServiceOptions) =>
      withClient(options, env, async (client, signal) => {
        const profile = await client.profiles.create({ name }, { signal });
        printResult(options, profile, `Created the profile ${name} (${profile.id}).`);
      }),
    );
}

function downloadCommand(env: NodeJS.ProcessEnv): Command {
  return serviceCommand('download', "Download a profile's user-data directory as an archive")
    .argument('<name>', 'name or id of the profile')
    .option(
      '-o, --output <path>',
      'the file to write, or an existing directory for it, or a path that ends in "/"',
      '.',
    )
    .addOption(new Option('--format <format>', 'compressed or not').choices(['tar.zst', 'tar']).default('tar.zst'))
    .addHelpText(
      'after',
      `${examples('profile download ann', 'profile download ann -o profiles/', 'profile download ann -o ann.tar --format tar')}

The file contains cookies and logins, so only its owner can read it. The command replaces an existing file once the download is complete.
Exit code 3: the profile was never saved.`,
    )
    .action((name: string, options: DownloadOptions) =>
      interruptible(async (signal) => (await import('./profile-archive.ts')).download(name, options, env, signal)),
    );
}

function unpackCommand(): Command {
  return new Command('unpack')
    .description('Extract an archive into a user-data directory')
    .argument('<file>', 'a downloaded archive')
    .requiredOption('-o, --output <directory>', 'the directory to create')
    .option('--force', 'replace an existing user-data directory')
    .option('--json', 'print JSON')
    .addHelpText('after', examples('profile unpack ann.tar.zst -o ann', 'profile unpack ann.tar.zst -o ann --force'))
    .action((file: string, options: UnpackOptions) =>
      interruptible(async (signal) => (await import('./profile-archive.ts')).unpack(file, options, signal)),
    );
}

function openCommand(env: NodeJS.ProcessEnv): Command {
  return chromiumOptions(serviceCommand('open', "Start this machine's Chromium on a copy of a profile"))
    .argument('<profile>', whichProfile)
    .option('--headless', 'without a window (default without a display)')
    .addHelpText(
      'after',
      `${examples('profile open ann', 'profile open ./ann.tar.zst', 'profile open ann --headless')}

The command ends with Ctrl+C or when you close the browser. It then deletes the copy. The profile doesn't change.`,
    )
    .action((profile: string, options: OpenOptions) =>
      interruptible(async (signal) => (await import('./profile-open.ts')).openCopy(profile, options, env, signal)),
    );
}

function diffCommand(env: NodeJS.ProcessEnv): Command {
  return chromiumOptions(
    serviceCommand('diff', 'Compare two profiles: cookies, local storage, preferences and extensions'),
  )
    .argument('<a>', whichProfile)
    .argument('<b>', 'the profile to compare it with')
    .option('--show-values', 'print the values, which may be secrets, instead of lengths and marks')
    .addHelpText(
      'after',
      `${examples('profile diff ann bob', 'profile diff ann ./ann-of-yesterday.tar.zst', 'profile diff ./before ./after --show-values --json')}

Values are masked: equal values have the same mark within one output. Chromium reads cookies and local storage from copies.
Exit codes: 0 the profiles are equal, 1 they differ, 2 the comparison failed.`,
    )
    .action((a: string, b: string, options: DiffOptions) =>
      interruptible(async (signal) => (await import('./profile-diff.ts')).diff(a, b, options, env, signal)),
    );
}

const whichProfile =
  'name or id of a profile; or the path of an archive or user-data directory, which contains "/" or ends in .tar or .tar.zst';

function chromiumOptions(command: Command): Command {
  return command
    .option('--chromium <file>', 'the Chromium to run (default: PLAYWRIGHT_POOL_CHROMIUM)')
    .option('--no-sandbox', "run Chromium without its sandbox, where the system doesn't allow one");
}
