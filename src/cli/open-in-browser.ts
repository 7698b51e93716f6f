import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { CommandError } from './command-error.ts';

/** Opens a page in the browser of whoever sits here. Throws with the address where there is none. */
export async function openInBrowser(url: string): Promise<void> {
  const [command, ...args] = opener(url);
  const child = spawn(command, args, { stdio: 'ignore', detached: true });
  try {
    await once(child, 'spawn');
  } catch (error) {
    throw new CommandError(`no browser could be opened here (${command} is missing); open ${url} yourself`, undefined, { cause: error });
  }
  child.unref();
}

function opener(url: string): [command: string, ...args: string[]] {
  if (process.platform === 'darwin') return ['open', url];
  // Not by cmd, which would read the ampersands of an address.
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url];
  return ['xdg-open', url];
}
