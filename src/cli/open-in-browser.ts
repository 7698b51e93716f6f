import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** How long, in milliseconds, an opener has to fail; one that is still there shows the page. */
const openingTimeout = 3000;

/** Opens a page in the browser of whoever sits here. Where that cannot be done, says why and prints the address. */
export async function openInBrowser(url: string, env: NodeJS.ProcessEnv): Promise<void> {
  const problem = await whyNotOpened(opener(url), env);
  if (problem === undefined) return;
  console.error(`No browser could be opened here: ${problem}. The link opens for whoever has it:`);
  console.log(url);
}

async function whyNotOpened([command, ...args]: [string, ...string[]], env: NodeJS.ProcessEnv): Promise<string | undefined> {
  const { hasDisplay } = await import('../service/local-chromium.ts');
  // Editors on another machine name a program in BROWSER that opens pages on this one's screen.
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
  // Not by cmd, which would read the ampersands of an address.
  if (process.platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url];
  return ['xdg-open', url];
}
