import { realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { invalidField, OperationError } from '../../contract/errors.ts';
import { firstExecutable, inPath } from '../process/children/executables.ts';
import { passedOn } from '../process/children/passed-on.ts';
import { isReachable } from '../process/trees/reachable.ts';
import { errorCode } from '../process/system-error.ts';
import type { SystemUser } from '../process/children/system-users.ts';
import { withEntry } from '../sessions/confined-path.ts';
import type { LocalSession } from '../sessions/local/local-session.ts';

/** The parts of a session that its programs need: its directory, and its user if it has one. */
export type Place = Pick<LocalSession, 'root' | 'isolatedUser'>;

type Variables = Record<string, string>;

/** The home directory, as callers see it in the session. */
export const home = '/home/user';

/** Variables that programs must not get, because they describe the service's own user, display or proxy. */
const ofService =
  /^(HOME|USER|LOGNAME|TEMP|TMP|TMPDIR|XDG_\w+|DBUS_\w+|XAUTHORITY|DISPLAY|WAYLAND_DISPLAY|\w+_proxy)$/i;

/** Throws `not_implemented` with --block-loopback: programs could reach the addresses that this option blocks for pages. */
export function refuseBeside({ browser }: LocalSession): void {
  if (!browser.chromium.blocksLoopback) return;
  const message =
    'this service runs with --block-loopback and so runs no programs in sessions: they could reach the blocked addresses';
  throw new OperationError('not_implemented', message);
}

/** The environment of a session's programs. `PLAYWRIGHT_POOL_ROOT` is the directory that callers see as `/`. */
export function environmentIn({ root }: Place, own: Variables = {}): Variables {
  const kept = Object.entries(passedOn(process.env)).filter(([name]) => !ofService.test(name));
  return {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    ...(Object.fromEntries(kept) as Variables),
    HOME: path.join(root, home),
    TMPDIR: path.join(root, 'tmp'),
    PLAYWRIGHT_POOL_ROOT: root,
    ...own,
  };
}

/** The path on the machine of a directory that callers see in the session. Throws `bad_request` and `forbidden`. */
export async function directoryIn({ root }: Place, sessionPath: string): Promise<string> {
  try {
    const directory = await withEntry(root, sessionPath, { followLink: true }, (entry) => realpath(entry));
    if ((await stat(directory)).isDirectory()) return directory;
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR', 'EACCES', 'ELOOP'].includes(errorCode(error) ?? '')) throw error;
  }
  throw invalidField('cwd', `there is no directory ${sessionPath} in the session`);
}

/**
 * Finds the file of a command: an absolute path in the session, else on the machine, or a name in `PATH`. Throws
 * `bad_request` if there is none that the session's user may execute.
 */
export async function programIn(
  { root, isolatedUser }: Place,
  command: string,
  { directory, environment }: { directory: string; environment: Variables },
): Promise<string> {
  const isPath = command.includes('/') || path.isAbsolute(command);
  const files = path.isAbsolute(command)
    ? [path.join(root, command), command]
    : isPath
      ? [path.join(directory, command)]
      : inPath(command, environment);
  const found = await firstExecutable(files);
  if (found === undefined) {
    const advice = isPath
      ? ''
      : ' in PATH. The service uses no shell: to run a shell command, pass sh as command and -c and the line as args';
    throw invalidField('command', `there is no program ${JSON.stringify(command.slice(0, 200))}${advice}`);
  }
  if (isolatedUser && !(await mayExecute(isolatedUser.user, found, root)))
    throw invalidField('command', `the session's user may not execute ${command}`);
  return found;
}

/** Whether the session's user may execute the file. The service may run as root, which may execute more. */
async function mayExecute(user: SystemUser, file: string, root: string): Promise<boolean> {
  const { mode, uid, gid } = await stat(file);
  const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
  return (mode & bit) !== 0 && (file.startsWith(root + path.sep) || (await isReachable(file)));
}
