import { existsSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import path from 'node:path';
import type { Isolation } from '../chromium/isolation.ts';
import { firstExecutable, inPath } from '../process/children/executables.ts';

/**
 * A package manager: its lockfiles, and the arguments with which it installs exactly the versions in the lockfile and
 * runs no install scripts.
 */
type PackageManager = { name: string; lockfiles: string[]; args: string[] };

const managers: readonly PackageManager[] = [
  {
    name: 'npm',
    lockfiles: ['package-lock.json', 'npm-shrinkwrap.json'],
    args: [
      'ci',
      '--omit=dev',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--no-update-notifier',
      '--loglevel=http',
    ],
  },
  {
    name: 'pnpm',
    lockfiles: ['pnpm-lock.yaml'],
    // With hard links, an app could change the files of the store.
    args: ['install', '--frozen-lockfile', '--prod', '--ignore-scripts', '--package-import-method=copy'],
  },
  {
    name: 'yarn',
    lockfiles: ['yarn.lock'],
    args: ['install', '--frozen-lockfile', '--production', '--ignore-scripts', '--non-interactive'],
  },
  {
    name: 'bun',
    lockfiles: ['bun.lock', 'bun.lockb'],
    args: ['install', '--frozen-lockfile', '--production', '--ignore-scripts'],
  },
];

/** A command that installs dependencies. `text` is the command as people write it. */
export type InstallCommand = { text: string; lockfile: string; file: string; args: string[] };

/**
 * The command for the lockfile of a directory. Throws an error with the solution if there is no lockfile, or if its
 * package manager isn't installed. `node` is a Node that all users can start.
 */
export async function installCommand(directory: string, isolation: Isolation, node: string): Promise<InstallCommand> {
  const remedy = 'deploy it with a package-lock.json (npm install --package-lock-only) or with its node_modules';
  const found = managers.flatMap((manager) =>
    manager.lockfiles
      .filter((lockfile) => existsSync(path.join(directory, lockfile)))
      .map((lockfile) => ({ manager, lockfile })),
  );
  for (const { manager, lockfile } of found) {
    const { name, args } = manager;
    const installed = await firstExecutable(inPath(name, process.env));
    if (installed === undefined) continue;
    const program = await realpath(installed);
    const text = `${name} ${args.join(' ')}`;
    const reachable = await isolation.program(program, packageOf(program));
    if (/\.[cm]?js$/.test(program)) return { text, lockfile, file: node, args: [reachable, ...args] };
    return { text, lockfile, file: reachable, args };
  }
  const [first] = found;
  if (!first) throw new Error(`package.json has dependencies, but there is no lockfile: ${remedy}`);
  throw new Error(
    `${first.lockfile} needs ${first.manager.name}, which isn't installed on the service's machine: install it there, or ${remedy}`,
  );
}

/** The directory of the package that a program belongs to; the program itself if there is none. */
function packageOf(program: string): string {
  for (
    let directory = path.dirname(program);
    directory !== path.dirname(directory);
    directory = path.dirname(directory)
  )
    if (existsSync(path.join(directory, 'package.json'))) return directory;
  return program;
}
