import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { printJSON } from './table.ts';

/** If the program that opens pages still runs after this time, it counts as successful. In ms. */
const openingTimeout = 3000;

/** Prints a link as `--json` or `--print` ask, or opens it in the user's browser. */
export async function showLink(
  url: string,
  { json, print }: { json?: boolean; print?: boolean },
  env: NodeJS.ProcessEnv,
): Promise<void> {
  if (json) printJSON({ url });
  else if (print) console.log(url);
  else await openInBrowser(url, env);
}

/** Waits for Ctrl+C if the command has started the service, because the link of `what` ends with the service. */
export async function keepStarted(startedHere: boolean, what: string, signal: AbortSignal): Promise<void> {
  if (!startedHere) return;
  console.error(`The service was started for ${what}. Ctrl+C ends both.`);
  // Keep the process running by the longest timer that Node has.
  await setTimeout(2 ** 31 - 1, undefined, { signal }).catch(() => {});
}

/** Opens a page in the user's browser. If that fails, prints the reason and the address. */
async function openInBrowser(url: string, env: NodeJS.ProcessEnv): Promise<void> {
  const problem = await whyNotOpened(opener(url), env);
  if (problem === undefined) return;
  console.error(`Can't open a browser here: ${problem}. Anybody who has this link can use it:`);
  console.log(url);
}

async function whyNotOpened(
  [command, ...args]: [string, ...string[]],
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const { hasDisplay } = await import('../service/profiles/local-chromium.ts');
  // Remote editors set BROWSER to a program that opens pages on the user's screen.
  if (!hasDisplay(env) && !env['BROWSER']) return 'there is no display';
  const child = spawn(command, args, { stdio: 'ignore', detached: true });
  try {
    const [code] = (await once(child, 'exit', { signal: AbortSignal.timeout(openingTimeout) })) as [number | null];
    return code === 0 ? undefined : `${command} failed`;
  } catch (error) {
    return (error as Error).name === 'AbortError' ? undefined : `${command} is missing`;
  } finally {
    child.unref();
  }
}

function opener(url: string): [command: string, ...args: string[]] {
  if (process.platform === 'darwin') return ['open', url];
  // Not `start`: cmd would interpret an & in the URL.
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url];
  return ['xdg-open', url];
}
